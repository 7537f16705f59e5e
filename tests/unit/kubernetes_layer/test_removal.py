"""Which removals are refused, and which consent accepts one."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import removal, run_lease
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.removal import (
    LeavingNode,
    Volume,
    delete,
    reasons,
    refuse,
    survey,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.verbs import remove as verb
from ansible_collections.groundup.cloud.plugins.plugin_utils.verbs.base import Asked

WORKER = LeavingNode(
    name="worker-1", found=True, ready=True, control=False, address="10.0.0.1", others=("worker-2",),
    control_left=("control-1",), pods=("openstack/web",), bare=(), volumes=(),
)  # fmt: skip
CONTROL = replace(WORKER, name="control-1", control=True, pods=())


def test_nothing_stands_against_a_worker_with_room_elsewhere() -> None:
    assert reasons(WORKER) == []


def test_the_last_control_host_is_never_removed() -> None:
    with pytest.raises(GroundupError, match="the only control host"):
        refuse(replace(CONTROL, control_left=()), ["control-count"])


@pytest.mark.parametrize(
    ("left", "codes"), [(1, ["control-count"]), (2, ["control-count"]), (3, []), (4, ["control-count"]), (5, [])]
)
def test_an_even_or_too_small_number_of_control_hosts_needs_consent(left: int, codes: list[str]) -> None:
    leaving = replace(CONTROL, control_left=tuple(f"control-{number}" for number in range(2, 2 + left)))
    assert [reason.code for reason in reasons(leaving)] == codes
    refuse(leaving, codes)
    if codes:
        with pytest.raises(GroundupError, match="control host"):
            refuse(leaving, [])


@pytest.mark.parametrize("force", [[], ["local-volumes", "other-volumes", "bare-pods", "last-node", "control-count"]])
def test_a_cluster_that_names_no_node_does_not_let_one_go(force: list[str]) -> None:
    leaving = survey(Cluster(), "worker-1")  # type: ignore[arg-type]  # a stand-in
    with pytest.raises(GroundupError, match="the cluster names no control host at all"):
        refuse(leaving, force)


def test_what_is_lost_with_the_host_is_named() -> None:
    leaving = replace(
        WORKER, volumes=(Volume(name="pv", namespace="openstack", claim="mysql-data-0"),), others=(), bare=("a/b",)
    )
    assert [reason.code for reason in reasons(leaving)] == ["local-volumes", "bare-pods", "last-node"]
    with pytest.raises(GroundupError, match="openstack/mysql-data-0") as caught:
        refuse(leaving, ["bare-pods", "last-node"])
    assert '{"remove_force": [local-volumes]}' in caught.value.remedy


CONTROL_PLANE, OUTSIDE = (
    "node-role.kubernetes.io/control-plane",
    "node.kubernetes.io/exclude-from-external-load-balancers",
)


def node(name: str, address: str, *labels: str, ready: bool = True) -> dict[str, Any]:
    """Return a Node."""
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    status = {"addresses": [{"type": "InternalIP", "address": address}], "conditions": conditions}
    return {"metadata": {"name": name, "labels": dict.fromkeys(labels, "")}, "spec": {}, "status": status}


class Cluster:
    """An API with these objects, by path; what is deleted is noted."""

    def __init__(self, *nodes: dict[str, Any], **objects: Any) -> None:
        self.objects: dict[str, Any] = {"/api/v1/nodes": {"items": list(nodes)}, "/api/v1/pods": {"items": []}}
        self.objects |= {"/api/v1/persistentvolumes": {"items": []}, **objects}
        self.deleted: list[tuple[str, Any]] = []

    def get(self, path: str, **_: str) -> Any:
        return self.objects[path]

    def find(self, path: str) -> Any:
        return self.objects.get(path)

    def delete(self, path: str, *, body: Any = None) -> None:
        self.deleted.append((path, body))


CLAIM = "/api/v1/namespaces/openstack/persistentvolumeclaims/mysql-data-0"


@pytest.mark.parametrize(
    ("bound", "claims"),
    [("pv-1", [(CLAIM, {"preconditions": {"uid": "u"}})]), ("pv-2", []), (None, [])],
    ids=["its own claim", "a claim made anew has its data elsewhere", "no claim"],
)
def test_only_the_claim_that_is_bound_to_the_volume_is_deleted_with_it(bound: str | None, claims: list[Any]) -> None:
    """A claim of a dead node is deleted and made anew by its StatefulSet; the old volume still names it."""
    of = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["worker-1"]}]}
    spec: dict[str, Any] = {"nodeAffinity": {"required": {"nodeSelectorTerms": [of]}}}
    spec["claimRef"] = {"namespace": "openstack", "name": "mysql-data-0", "uid": "old"}
    volumes = {"items": [{"metadata": {"name": "pv-1"}, "spec": spec}]}
    claim = {"metadata": {"uid": "u"}, "spec": {"volumeName": bound}} if bound else None
    api: Any = Cluster(node("worker-1", "10.0.0.1"), **{"/api/v1/persistentvolumes": volumes, CLAIM: claim})
    leaving = survey(api, "worker-1")
    assert [reason.code for reason in reasons(leaving)] == ["local-volumes"]
    said = delete(api, leaving)
    assert said[1:] == ["volume claim openstack/mysql-data-0" if claims else "volume pv-1, which no claim uses"]
    assert api.deleted[1:] == [*claims, ("/api/v1/persistentvolumes/pv-1", None)]
    spec.pop("claimRef")
    assert survey(api, "worker-1").volumes == (Volume(name="pv-1", namespace="", claim=""),)


def asked(machine: str, **hosts: tuple[str, tuple[str, ...]]) -> verb.Remove:
    """Return the verb on a machine of a site with hosts of this address and these roles."""
    known = {
        name.replace("_", "-"): SimpleNamespace(address=address, roles=roles)
        for name, (address, roles) in hosts.items()
    }
    return verb.Remove(Asked(plan=cast(Any, SimpleNamespace(site="unit", hosts=known)), machine=machine))


CONTROLS: Any = {f"control_{number}": (f"10.0.1.{number}", ("control",)) for number in (1, 2, 3)}


def test_the_machine_that_has_a_dead_hosts_address_now_is_left_alone() -> None:
    api: Any = Cluster(node("control-3", "10.0.0.3", ready=False), node("control-4", "10.0.0.3"))
    assert survey(api, "control-3").address == ""
    leaving = survey(Cluster(node("control-3", "10.0.0.3")), "control-3")  # type: ignore[arg-type]  # a stand-in
    left = replace(leaving, control_left=("control-1",))
    assert asked("control-3", **CONTROLS).facts(left)["address"] == "10.0.0.3"
    taken = asked("control-3", **CONTROLS, control_4=("10.0.0.3", ("control",)))
    assert taken.facts(left)["address"] == ""


def test_a_control_host_that_runs_is_asked_before_one_that_does_not() -> None:
    names = ["control-1", "control-2", "control-3", "worker-1"]
    labels = dict.fromkeys(names[:3], CONTROL_PLANE) | {"worker-1": OUTSIDE}
    nodes = (node(name, f"10.0.0.{n}", labels[name], ready=name != "control-1") for n, name in enumerate(names))
    leaving = survey(Cluster(*nodes), "control-3")  # type: ignore[arg-type]  # a stand-in
    assert leaving.control_left == ("control-2", "control-1"), "a worker with one of their labels is none"
    assert asked("control-3", **CONTROLS).facts(leaving)["contact"] == "control-2"


def test_etcd_is_asked_for_a_host_that_nobody_else_knows_any_more() -> None:
    """Its Node was deleted by hand, and it has left the site file: its etcd member may be there."""
    gone = replace(WORKER, found=False, pods=())
    known = asked("worker-1", **CONTROLS)
    found = known.facts(gone)
    assert (found["control"], found["contact"], known.predict(gone)) == (True, "control-1", [])
    assert asked("worker-1", **CONTROLS, worker_1=("10.0.0.1", ("compute",))).facts(gone)["control"] is False
    assert known.facts(WORKER)["control"] is False


def test_the_run_still_holds_its_lease_when_a_long_drain_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another run may have begun meanwhile, and the member of etcd is removed next."""
    done: list[str] = []
    monkeypatch.setattr(run_lease, "hold", lambda _: done.append("hold"))
    monkeypatch.setattr(removal, "survey", lambda *_: WORKER)
    monkeypatch.setattr(removal, "drain", lambda *_, **__: done.append("drain"))
    monkeypatch.setattr(verb, "Api", lambda _: None)
    assert asked("worker-1", **CONTROLS).run("drain")["changes"] == ["evict openstack/web"]
    assert done == ["hold", "drain", "hold"]
