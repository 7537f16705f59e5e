"""The example sites on machines such as they describe."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action.preflight import planned
from ansible_collections.groundup.cloud.plugins.module_utils._plan.preflight import Expected
from ansible_collections.groundup.cloud.plugins.module_utils._preflight.checks import run
from ansible_collections.groundup.cloud.plugins.module_utils._preflight.links import Link
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.serial import host_vars, site_vars
from ansible_collections.groundup.cloud.plugins.plugin_utils.preflight_report import lines

from .conftest import SYSTEMS, Host

INVENTORIES = Path(__file__).resolve().parents[3] / "inventories"
MODULES = ("br_netfilter", "overlay", "nf_conntrack", "nf_tables", "veth", "vxlan")


@pytest.fixture
def examined(host: Host, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], list[dict[str, Any]]]:
    """Return a function that examines a host of an example site, on a machine with its management address alone."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    def examine(site: str, name: str) -> list[dict[str, Any]]:
        plan = make_plan(load_site(INVENTORIES / site / "site.yml"))
        variables = {"groundup_site": site_vars(plan), "groundup_host": host_vars(plan.hosts[name])}
        host.write("/usr/sbin/visudo")
        host.lost[64] = {plan.edge.address: "no answer"}
        host.found["ens3"].addresses = {plan.hosts[name].address: 24}
        host.write("/proc/modules", "".join(f"{module} 1 0 - Live 0x0\n" for module in MODULES))
        here = {"systems": SYSTEMS, "space": {}}  # this machine's kernel, Python and disk
        result = run(host, Expected.from_dict(planned(variables, store=None, controller_time=None) | here))
        found: list[dict[str, Any]] = result["faults"]
        assert [(one.severity, one.check) for one in lines({name: result})] == [
            (one["severity"], one["check"]) for one in found
        ]
        return found

    return examine


def test_edge_as_shipped_needs_its_management_address_alone(
    examined: Callable[[str, str], list[dict[str, Any]]],
) -> None:
    found = examined("edge", "edge-1")
    assert {one["severity"] for one in found} == {"warning"}
    assert [one["what"] for one in found] == [
        "no interface has the planned address on storage: a later version needs it",
        "no interface has the planned address on tunnel: a later version needs it",
        "2 of the 16 cores of edge-node",
        "4 of the 64 GiB of memory of edge-node",
    ]


def test_a_region_refuses_a_seed_smaller_than_its_profile(
    examined: Callable[[str, str], list[dict[str, Any]]],
) -> None:
    errors = [one["what"] for one in examined("region", "seed-1") if one["severity"] == "error"]
    assert errors == [
        "no interface has the planned address on provisioning",
        "2 of the 8 cores of region-seed",
        "4 of the 32 GiB of memory of region-seed",
    ]


def test_a_machine_of_the_rack_needs_its_management_address_and_the_ports_of_its_bond(
    host: Host, examined: Callable[[str, str], list[dict[str, Any]]]
) -> None:
    host.found |= {name: Link(mtu=1500, up=True, mac="") for name in ("ens1f0np0", "ens1f1np1")}
    network = ("address", "network", "mtu")
    assert [one for one in examined("rack", "hypervisor-1") if one["check"] in network] == []
    del host.found["ens1f1np1"]
    (fault,) = (one for one in examined("rack", "hypervisor-1") if one["check"] in network)
    assert "there is no port ens1f1np1" in fault["what"]
