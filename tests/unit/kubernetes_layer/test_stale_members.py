"""A host that was lost and is made anew takes its own place; what still lives, or cannot be agreed on, is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import stale_members
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.api import NodeApiError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.etcd import EtcdMember
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.stale_members import Empty, remove_stale_members

pytestmark = pytest.mark.usefixtures("clock")
ADDRESSES = {f"control-{n}": f"10.0.0.1{n}" for n in range(1, 6)}


def member(name: str, *, address: str | None = None, learner: bool = False, started: bool = True) -> EtcdMember:
    where = address or ADDRESSES[name]
    return EtcdMember(
        id=str(0xABC0 + int(name[-1])),
        name=name if started else "",
        peers=(f"https://{where}:2380",),
        clients=(f"https://{where}:2379",) if started else (),
        learner=learner,
    )


def empty(name: str, *, half_made: bool = False) -> Empty:
    address = ADDRESSES.get(name, "10.0.0.30")
    return Empty(name=name, address=address, control=name.startswith("control"), half_made=half_made)


class Cluster:
    """An etcd and an API server: who is a member, who is a node, and who is well."""

    def __init__(self, *members: EtcdMember, ill: Sequence[str] = (), nodes: dict[str, str] | None = None) -> None:
        self.kept = list(members)
        self.ill = set(ill)
        self.nodes = nodes or {}  # name: address
        self.listening: set[tuple[str, int]] = set()
        self.done: list[str] = []
        self.refuses: list[NodeApiError] = []

    def members(self) -> tuple[EtcdMember, ...]:
        return tuple(self.kept)

    def healthy(self, found: EtcdMember) -> bool:
        return found.name not in self.ill

    def remove(self, found: EtcdMember) -> None:
        if self.refuses:
            raise self.refuses.pop()
        self.kept.remove(found)
        self.done.append(f"removed {found.name}")

    def get(self, path: str) -> dict[str, Any] | None:
        name = path.rsplit("/", 1)[-1]
        if name not in self.nodes:
            return None
        return {"status": {"addresses": [{"type": "InternalIP", "address": self.nodes[name]}]}}

    def request(self, method: str, path: str) -> dict[str, Any]:
        name = path.rsplit("/", 1)[-1]
        del self.nodes[name]
        self.done.append(f"{method} {name}")
        return {}

    def listens(self, host: str, port: int) -> bool:
        return (host, port) in self.listening

    def replace(self, *hosts: Empty, check: bool = False) -> list[str]:
        """Remove what is stale of ``hosts``; return what was done."""
        changes = Changes(check=check)
        how: Any = {"etcd": self, "api": self}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stale_members, "listens", self.listens)
            remove_stale_members(hosts, contact="control-1", changes=changes, **how)
        self.shown = "".join(diff["before"] for diff in changes.diffs)
        return changes.done


def three(**how: Any) -> Cluster:
    return Cluster(*(member(f"control-{n}") for n in (1, 2, 3)), **how)


def test_a_lost_control_hosts_member_goes_first_and_then_its_node() -> None:
    cluster = three(ill=["control-2"], nodes=dict(ADDRESSES))
    done = cluster.replace(empty("control-2"))
    assert cluster.done == ["removed control-2", "DELETE control-2"]
    assert done == ["remove the etcd member of control-2", "delete the Node control-2"]
    assert "https://10.0.0.12:2380" in cluster.shown


def test_a_run_killed_between_the_two_is_finished_by_the_next() -> None:
    cluster = three(ill=["control-2"], nodes=dict(ADDRESSES))
    cluster.kept = [found for found in cluster.kept if found.name != "control-2"]
    assert cluster.replace(empty("control-2")) == ["delete the Node control-2"]
    assert cluster.replace(empty("control-2")) == []


def test_hosts_that_are_new_to_the_cluster_change_nothing() -> None:
    cluster = Cluster(member("control-1"), nodes={"control-1": "10.0.0.11"})
    assert cluster.replace(empty("control-2"), empty("control-3"), empty("worker-1")) == []
    assert cluster.done == []


def test_a_lost_worker_leaves_a_node_and_etcd_is_not_asked() -> None:
    cluster = Cluster(nodes={"worker-1": "10.0.0.30"})
    cluster.members = None  # type: ignore[assignment]  # a call would fail
    assert cluster.replace(empty("worker-1")) == ["delete the Node worker-1"]


def test_a_host_that_comes_back_with_another_address_is_known_by_its_name() -> None:
    cluster = Cluster(
        member("control-1"), member("control-2", address="10.0.9.9"), member("control-3"), ill=["control-2"]
    )
    assert cluster.replace(empty("control-2")) == ["remove the etcd member of control-2"]


def test_a_member_that_never_started_is_known_by_its_address() -> None:
    cluster = Cluster(member("control-1"), member("control-2", started=False))
    cluster.ill = {""}
    with pytest.raises(GroundupError, match="1 of 2 members are healthy"):
        cluster.replace(empty("control-2"))
    cluster = Cluster(member("control-1"), member("control-2", started=False, learner=True))
    assert cluster.replace(empty("control-2")) == ["remove the etcd member of control-2"]


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("port", [2379, 2380])
def test_a_member_that_still_answers_is_refused_and_nothing_is_changed(port: int, check: bool) -> None:
    cluster = three(nodes=dict(ADDRESSES))
    cluster.listening = {("10.0.0.12", port)}
    with pytest.raises(GroundupError, match=rf"(?s)control-2 is empty, but its etcd member abc2 .*:{port}.*switch the"):
        cluster.replace(empty("control-2"), empty("worker-1"), check=check)
    assert cluster.done == []


def test_the_etcd_of_a_half_made_host_is_left_to_kubeadms_reset() -> None:
    cluster = three()
    cluster.listening = {("10.0.0.12", 2379)}
    assert cluster.replace(empty("control-2", half_made=True)) == []
    elsewhere = Cluster(member("control-1"), member("control-2", address="10.0.9.9"), member("control-3"))
    elsewhere.listening = {("10.0.9.9", 2379)}
    with pytest.raises(GroundupError, match="still answers"):
        elsewhere.replace(empty("control-2", half_made=True))


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize(
    ("count", "ill", "said"),
    [
        (1, (), r"0 others are healthy, 1 are needed.*kubelet-finalize"),
        (2, ("control-2",), r"0 others are healthy, 1 are needed.*bring control-2 back"),
        (3, ("control-2",), r"1 others are healthy, 2 are needed.*bring control-2 back"),
    ],
)
def test_a_vote_the_others_cannot_do_without_is_not_reset(
    count: int, ill: tuple[str, ...], said: str, check: bool
) -> None:
    """The only control host, its kubelet.conf made by hand as Kubernetes' own guide to expired certificates says."""
    cluster = Cluster(*(member(f"control-{n}") for n in range(1, count + 1)), ill=ill, nodes=dict(ADDRESSES))
    cluster.listening = {("10.0.0.11", 2379)}
    with pytest.raises(GroundupError, match=f"(?s)control-1 is not a whole node, but its etcd member abc1 .*{said}"):
        cluster.replace(empty("control-1", half_made=True), check=check)
    assert cluster.done == []


def test_a_half_made_host_without_a_vote_is_reset_also_while_another_is_ill() -> None:
    cluster = Cluster(member("control-1"), member("control-2", learner=True), member("control-3"), ill=["control-3"])
    cluster.listening = {("10.0.0.12", 2379)}
    assert cluster.replace(empty("control-2", half_made=True)) == []


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize(
    ("count", "lost", "ill", "said"),
    [
        (3, ("control-2",), ("control-3",), r"control-2 cannot .* 1 of 3 .*\(control-1\), 2 .*bring control-3 back"),
        (3, ("control-2", "control-3"), (), r"control-2, control-3 cannot .* 1 of 3 .*restore etcd from a snapshot"),
        (2, ("control-2",), (), r"control-2 cannot .* 1 of 2"),
        (5, ("control-4", "control-5"), ("control-3",), r"2 of 5 .*, 3 are needed.*bring control-3 back"),
    ],
)
def test_what_would_leave_no_quorum_is_refused_with_host_members_and_remedy(
    count: int, lost: tuple[str, ...], ill: tuple[str, ...], said: str, check: bool
) -> None:
    cluster = Cluster(*(member(f"control-{n}") for n in range(1, count + 1)), ill=[*lost, *ill], nodes=dict(ADDRESSES))
    with pytest.raises(GroundupError, match=f"(?s){said}"):
        cluster.replace(*(empty(name) for name in lost), check=check)
    assert cluster.done == []


def test_two_of_five_are_replaced_in_one_run() -> None:
    cluster = Cluster(*(member(f"control-{n}") for n in range(1, 6)), ill=["control-4", "control-5"])
    cluster.replace(empty("control-4"), empty("control-5"))
    assert cluster.done == ["removed control-4", "removed control-5"]


def test_a_quorum_that_comes_within_seconds_is_waited_for(clock: list[float]) -> None:
    cluster = three(ill=["control-2", "control-3"])
    cluster.healthy = lambda found: found.name == "control-1" or clock[0] > 3.0  # type: ignore[method-assign]  # a stand-in
    cluster.replace(empty("control-2"))
    assert cluster.done == ["removed control-2"]


def test_etcd_is_asked_again_until_it_has_noticed_that_the_member_is_gone(clock: list[float]) -> None:
    cluster = three(ill=["control-2"])
    cluster.refuses = [NodeApiError("etcdserver: unhealthy cluster", status=503)] * 2
    cluster.replace(empty("control-2"))
    assert (cluster.done, clock[0]) == (["removed control-2"], 2.0)
    cluster = three(ill=["control-3"])
    cluster.refuses = [NodeApiError("etcdserver: unhealthy cluster", status=503)] * 100
    with pytest.raises(GroundupError, match=r"(?s)not remove the member of control-3: etcdserver: unhealthy cluster"):
        cluster.replace(empty("control-3"))


def test_a_node_of_that_name_that_lives_elsewhere_is_refused_before_anything_is_changed() -> None:
    cluster = three(ill=["control-2"], nodes={"control-2": "10.0.9.9"})
    cluster.listening = {("10.0.9.9", 10250)}
    with pytest.raises(GroundupError, match=r"the Node control-2 answers at 10\.0\.9\.9"):
        cluster.replace(empty("control-2"))
    assert cluster.done == []


def test_check_mode_says_what_would_go_and_removes_nothing() -> None:
    cluster = three(ill=["control-2"], nodes=dict(ADDRESSES))
    done = cluster.replace(empty("control-2"), check=True)
    assert done == ["remove the etcd member of control-2", "delete the Node control-2"]
    assert cluster.done == []
