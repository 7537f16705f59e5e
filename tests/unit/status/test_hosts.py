"""What hosts say of themselves becomes rows: an unreachable one says whether a run goes on without it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._ovn.converge import Central
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.storage import ADMIN
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import PublicPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.status import hosts

Said = dict[str, Any]


def answer(**parts: Said) -> Said:
    """Return the result of a host with these parts; one without a state is well."""
    told = {name: {"state": "ok", "why": "", **found} for name, found in parts.items()}
    return {"parts": told, "debian": "13", "kernel": "6.1", "uptime": 3600, "snapshot": ""}


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("seed-1", {"host", "seed"}),
        ("control-1", {"host", "kubernetes", "edge", "network"}),
        ("worker-1", {"host", "kubernetes"}),
        ("storage-1", {"host", "storage", "ceph"}),
        ("hypervisor-1", {"host", "hypervisor"}),
    ],
)
def test_a_host_is_asked_for_the_layers_on_it(plan: Plan, name: str, parts: set[str]) -> None:
    assert set(hosts.wanted(plan, plan.hosts[name])) == parts


def test_the_administrators_key_goes_to_monitors_alone(plan: Plan) -> None:
    asked = {name: hosts.wanted(plan, host).get("ceph") for name, host in plan.hosts.items()}
    monitors = {one.name for one in plan.ceph.monitors} if plan.ceph else set()
    assert {name for name, one in asked.items() if one} == monitors
    assert all(list(one["keys"]) == [ADMIN] and one["osds"] > 0 for one in asked.values() if one)


def test_the_address_of_users_has_a_holder_too(plan: Plan) -> None:
    public = PublicPlan(address="192.0.2.2", network="users", cidr="192.0.2.0/24", gateway=None, router_id=9)
    edge = replace(plan.edge, public=public)
    assert hosts.wanted(plan, plan.hosts["control-1"])["edge"]["public_ip"] == ""
    assert hosts.wanted(replace(plan, edge=edge), plan.hosts["control-1"])["edge"]["public_ip"] == "192.0.2.2"
    nobody = replace(plan, edge=replace(edge, endpoints=()))
    assert hosts.wanted(nobody, plan.hosts["control-1"])["edge"]["public_ip"] == ""


def test_ovn_is_asked_by_what_its_own_verification_takes(plan: Plan) -> None:
    central = Central(**hosts.wanted(plan, plan.hosts["control-1"])["network"])
    assert (central.step, central.peers, central.private_key) == ("verify", [], "")


def test_a_host_that_cannot_be_there_yet_is_not_asked(plan: Plan, state: Path) -> None:
    host = plan.hosts["control-1"]
    assert "ssh key" in hosts.not_there(plan, host)
    (state / "ssh").mkdir(parents=True)
    (state / "ssh/id_ed25519").touch()
    assert "lab's host" in hosts.not_there(plan, host)
    assert "seed has not installed" in hosts.not_there(plan, replace(host, provisioner="ironic"))
    assert hosts.not_there(plan, replace(host, provisioner="existing")) == ""
    (state / "lab/control-1").mkdir(parents=True)
    assert hosts.not_there(plan, host) == ""


def test_a_host_names_its_layers_and_the_first_fault(plan: Plan) -> None:
    said = {
        "seed-1": answer(host={}, seed={}),
        "worker-1": answer(host={}, kubernetes={"state": "not made"}),
        "control-1": answer(
            host={"state": "warning", "why": "the clock is not synchronised"}, edge={"state": "not made"},
            kubernetes={"state": "broken", "why": "kubelet.service is failed", "remedy": "look"},
        ),
        "hypervisor-1": answer(host={}, hypervisor={"state": "unknown", "why": "KeyError: 'x'"}),
    }  # fmt: skip
    rows = {row.name: row for row in hosts.host_rows(plan, said)}
    assert (rows["seed-1"].state, rows["seed-1"].what) == ("ok", "host, seed")
    assert rows["worker-1"].what == "not made yet: kubernetes; host"
    assert rows["worker-1"].remedy == "run the playbook groundup.cloud.kubernetes"
    broken = rows["control-1"]
    assert (broken.state, broken.remedy) == ("broken", "look")
    first, second, third = broken.what.split("; ")
    assert (first, second) == ("kubernetes: kubelet.service is failed", "host: the clock is not synchronised")
    assert third == "not made yet: edge"
    assert rows["hypervisor-1"].state == "unknown"
    assert rows["control-1"].facts["layers"] == {"host": "warning", "edge": "not made", "kubernetes": "broken"}


def test_an_unreachable_host_says_whether_a_run_goes_on_without_it(plan: Plan) -> None:
    said = {"hypervisor-1": {"fault": "unreachable: no route"}, "control-1": {"fault": "unreachable: timed out"}}
    rows = {row.name: row for row in hosts.host_rows(plan, said)}
    assert {row.state for row in rows.values()} == {"unknown"}
    assert rows["hypervisor-1"].what == "unreachable: no route; a run would go on without it"
    assert rows["control-1"].what == "unreachable: timed out; a run would stop"
    assert (rows["hypervisor-1"].facts["set_aside"], rows["control-1"].facts["set_aside"]) == (True, False)
    both = {f"hypervisor-{number}": {"fault": "away"} for number in (1, 2)}
    assert all("would stop" in row.what for row in hosts.host_rows(plan, both)), "more than max_unavailable"


EDGE: Said = {"holds_address": True, "listeners": {"kubernetes": "OPEN"}, "servers": {}}


@pytest.mark.parametrize(
    ("said", "faults", "state", "what"),
    [
        (answer(edge=EDGE), [], "ok", "held by control-1"),
        (answer(edge=EDGE), ["a listener is closed"], "broken", "a listener is closed"),
        (answer(edge={**EDGE, "holds_address": False}), [], "broken", "no control host holds it"),
        (answer(edge={"state": "broken", "why": "HAProxy is silent"}), [], "broken", "no control host holds it"),
        (answer(edge={"state": "not made"}), [], "not made", "not made yet"),
        ({"not_there": "no key"}, [], "not made", "not made yet"),
        ({"fault": "away"}, [], "unknown", "no host that answers holds it; not asked: control-1"),
    ],
)
def test_the_virtual_ip_has_a_holder(plan: Plan, said: Said, faults: list[str], state: str, what: str) -> None:
    (row,) = hosts.address_rows(plan, {"control-1": said}, faults)
    assert (row.name, row.state, row.what) == (plan.edge.address, state, what)


def member(role: str, northd: str = "active", **more: Any) -> Said:
    one = {"role": role, "servers": [], "cluster": "c"}
    return answer(network={"members": {"nb": one, "sb": one}, "northd": northd, "certificate": 300, **more})


@pytest.mark.parametrize(
    ("said", "states"),
    [
        (member("leader"), ["ok"]),
        (member("follower"), ["ok", "broken", "broken"]),
        (member("leader", "standby"), ["ok", "broken"]),
        (member("leader", state="broken", why="schema 1, the installed version has 2"), ["broken"]),
        (answer(network={"state": "not made"}), ["not made"]),
        ({"fault": "away"}, ["unknown"]),
        ({"not_there": "no key"}, ["not made"]),
    ],
)
def test_ovns_databases_have_leaders(plan: Plan, said: Said, states: list[str]) -> None:
    assert [row.state for row in hosts.ovn_rows(plan, {"control-1": said})] == states


CEPH: Said = {
    "health": "HEALTH_OK", "osds": {"known": 3, "up": 3, "in": 3}, "bytes": {"used": 6 << 30, "total": 30 << 30},
    "monitors": ["storage-1"], "versions": ["ceph version 18.2.7 (abc) reef (stable)"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("said", "state", "what"),
    [
        ([answer(ceph=CEPH)], "ok", "HEALTH_OK, 3 of 3 OSDs up, 20 % of 30 GiB used"),
        (
            [answer(ceph={**CEPH, "state": "broken", "why": "osd.1 is down", "health": "HEALTH_WARN"})],
            "broken",
            "osd.1 is down; HEALTH_WARN, 3 of 3 OSDs up, 20 % of 30 GiB used",
        ),
        ([answer(ceph={"state": "broken", "why": "no quorum"}), answer(ceph=CEPH)], "ok", None),
        ([answer(ceph={"state": "broken", "why": "no quorum"}), {"fault": "away"}], "broken", "no quorum"),
        ([answer(ceph={"state": "not made"})], "not made", "not made yet"),
        ([{"fault": "away"}], "unknown", None),
        ([{"not_there": "no key"}], "not made", "not made yet"),
    ],
)
def test_ceph_is_told_by_the_first_monitor_that_knows(
    plan: Plan, said: list[Said], state: str, what: str | None
) -> None:
    (row,) = hosts.ceph_rows(plan, {f"storage-{number}": one for number, one in enumerate(said, 1)})
    assert row.state == state
    assert what in (row.what, None)
    assert bool(row.remedy) is (state == "broken" or row.what == "not made yet")


def test_an_owner_looks_after_his_own_ceph(plan: Plan) -> None:
    assert plan.ceph
    theirs = replace(plan, ceph=replace(plan.ceph, backend="external", make=False))
    assert hosts.ceph_rows(theirs, {})[0].state == "ok"
    assert hosts.ceph_rows(replace(plan, ceph=None), {}) == []
    assert "ceph" not in hosts.wanted(theirs, theirs.hosts["control-1"])


def test_certificates_have_kinds(plan: Plan) -> None:
    del plan
    files = {"apiserver.crt": 300, "etcd/ca.crt": 3000, "kubelet-client-current.pem": 200}
    said = {
        "control-1": answer(kubernetes={"certificates": files}, network={"certificate": 80}),
        "hypervisor-1": answer(hypervisor={"certificate": None}),
        "worker-1": {"fault": "away"},
    }
    assert {kind: days for kind, _, days in hosts.certificates_of(said)} == {
        "the control plane": 300, "the cluster's CAs": 3000, "kubelets": 200, "OVN's databases": 80,
    }  # fmt: skip
