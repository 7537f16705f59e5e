"""Designate, Manila, Magnum: what their verifiers say, and what a site is told that names them or Swift."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import designate, dialects, magnum, manila

from .test_barbican import plan_of

ALL = ("central", "mdns", "producer", "worker")


@pytest.mark.parametrize(("silent", "said"), [((), "every worker is up"), (("mdns",), "nothing is heard of mdns")])
def test_designate_is_well_when_one_of_each_worker_lives(silent: tuple[str, ...], said: str) -> None:
    gone = {"service_name": "central", "status": "DOWN"}  # a pod of the last version
    listed = [gone, *({"service_name": name, "status": "DOWN" if name in silent else "UP"} for name in ALL)]
    check = designate.judge(listed)
    assert check.ok == (not silent)
    assert said in check.detail
    assert check.object == f"Deployment/designate-{(*silent, 'central')[0]}"


@pytest.mark.parametrize(("judge", "binary"), [(magnum.judge, "magnum-conductor"), (manila.judge, "manila-scheduler")])
def test_one_that_lives_is_enough_and_none_is_said(judge: Any, binary: str) -> None:
    down, up = ({"binary": binary, "state": state} for state in ("down", "up"))
    assert judge([down, up]).ok
    assert not judge([down]).ok
    assert not judge([{**up, "binary": "other"}]).ok
    assert "nothing is heard" in judge([]).detail


def test_a_pool_of_the_sites_own_ends_the_finding() -> None:
    def told(**openstack: Any) -> bool:
        plan = plan_of("designate", openstack=openstack)
        return "zones-without-name-servers" in {finding.name for finding in plan.findings}

    assert told()
    assert not told(overrides={"designate": {"why": "ours", "values": {"conf": {"pools": "- name: default"}}}})


def test_who_writes_swift_is_told_what_offers_its_api() -> None:
    (finding,) = [one for one in plan_of("swift").findings if one.name == "unknown-service"]
    assert finding.remedy == "write ceph-rgw: it offers the same API"


@pytest.mark.parametrize(("paths", "dropped"), [({"/v1": "a", "/v2": "b"}, True), ({"/v2": "b"}, False)])
def test_a_version_of_the_api_that_is_gone_is_dropped_where_a_chart_names_it(
    paths: dict[str, str], dropped: bool
) -> None:
    spelled = dialects.manila({"conf": {}}, {"conf": {"paste": {"composite:osapi_share": paths}}})
    assert spelled == {"conf": {"paste": {"composite:osapi_share": {"/v1": None}}} if dropped else {}}


def test_magnums_clients_ask_what_its_pods_reach() -> None:
    services = ("placement", "glance", "nova", "neutron", "heat", "barbican", "magnum")
    values = next(one for one in plan_of(*services).openstack.releases if one.name == "magnum").values
    conf = values["conf"]["magnum"]
    kinds = {
        conf[section]["endpoint_type"] for section in conf if section.endswith("_client") and section[:6] != "magnum"
    }
    assert kinds == {"internalURL"}
    assert conf["keystone_auth"]["password"] == {"$secret": "magnum/keystone"}
