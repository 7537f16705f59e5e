"""Octavia: what its verifier says, and what its pods have for OVN's driver."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.octavia import (
    _tidy,
    judge_balancer,
    judge_provider,
)

SITE = Path(__file__).resolve().parents[3] / "inventories/cloud/site.yml"


@pytest.mark.parametrize(("names", "ok"), [(["ovn"], True), (["amphora"], False), ([], False)])
def test_an_api_that_gave_ovns_driver_up_is_said(names: list[str], ok: bool) -> None:
    assert judge_provider(names).ok == ok


@pytest.mark.parametrize(
    ("made", "gone", "said"),
    [
        ({"provisioning_status": "ACTIVE", "vip_address": "192.0.2.9"}, True, ""),
        ({"provisioning_status": "ACTIVE", "vip_address": "192.0.2.9"}, False, "still there"),
        ({"provisioning_status": "ACTIVE"}, True, "no address"),
        ({"provisioning_status": "PENDING_CREATE", "vip_address": "192.0.2.9"}, True, "is PENDING_CREATE"),
        ({}, True, "is None"),
    ],
)
def test_a_balancer_is_well_when_it_became_active_and_went_away(made: dict[str, str], gone: bool, said: str) -> None:
    check = judge_balancer(made, gone=gone)
    assert check.ok == (not said)
    assert said in check.detail


def test_an_agent_runs_beside_each_api_and_both_reach_ovn_with_a_certificate() -> None:
    data = yaml.safe_load(SITE.read_text())
    data["openstack"]["services"] = [*data["openstack"]["services"], "octavia"]
    plan = with_values(make_plan(build_site(data)))
    values = next(one for one in plan.openstack.releases if one.name == "octavia").values
    assert values["conf"]["octavia_api_uwsgi"]["uwsgi"]["attach-daemon"] == "octavia-driver-agent"
    assert values["conf"]["octavia"]["ovn"]["ovn_nb_connection"] == ",".join(plan.ovn.northbound)
    mounts = values["pod"]["mounts"]["octavia_api"]["octavia_api"]["volumeMounts"]
    assert {one["mountPath"] for one in mounts} == {"/etc/octavia/ovn", "/var/run/octavia"}


class Api:
    """An API with canned lists; remembers what was deleted."""

    def __init__(self, **lists: list[dict[str, Any]]) -> None:
        self.lists, self.deleted = lists, list[str]()

    def call(self, _: str, path: str) -> Any:
        name = path.strip("/").partition("?")[0]
        return SimpleNamespace(body={name: self.lists[name]})

    def gone(self, path: str) -> None:
        self.deleted.append(path)


@pytest.mark.parametrize(
    ("owners", "deleted"),
    [(["network:distributed"], ["/networks/1"]), ([], ["/networks/1"]), (["network:distributed", "Octavia"], [])],
)
def test_a_killed_runs_network_goes_when_only_ovns_own_port_is_in_it(owners: list[str], deleted: list[str]) -> None:
    network = {"id": "1", "created_at": "2026-01-01T00:00:00Z"}
    neutron: Any = Api(networks=[network], ports=[{"device_owner": owner} for owner in owners])
    octavia: Any = Api(loadbalancers=[])
    _tidy(octavia, neutron)
    assert neutron.deleted == deleted
