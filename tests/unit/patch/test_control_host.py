"""What a control host hands over before its maintenance, and takes back after it; killed at any effect, it goes on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._control import maintenance
from ansible_collections.groundup.cloud.plugins.module_utils._host import units
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import rolling_restart, static_pods
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.api import NodeApiError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.etcd import OWN, EtcdMember
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.host import NodeHost
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Paths
from ansible_collections.groundup.cloud.plugins.module_utils._ovn import away, status
from ansible_collections.groundup.cloud.plugins.module_utils._ovn.databases import DATABASES, Database
from ansible_collections.groundup.cloud.tests.unit.killing import Killer

KUBELET, KEEPALIVED = "kubelet.service", "keepalived.service"
NODES = {f"control-{number}": f"10.0.0.{number}" for number in (1, 2, 3)}
GIVEN: dict[str, Any] = {
    "name": "control-1", "address": NODES["control-1"], "api_port": 6444,
    "others": {name: NODES[name] for name in ("control-2", "control-3")}, "virtual": {"10.0.0.100": 6443},
    "peers": ["10.0.0.2", "10.0.0.3"], "clusters": {"nb": "cid", "sb": "cid"}, "timeout": 0.05,
}  # fmt: skip


class World(NodeHost):
    """Control-1, which holds the virtual IP and leads everything; what is done to it, and what the others say."""

    def __init__(self, paths: Paths) -> None:
        super().__init__(name="control-1", paths=paths)
        self.units = {KUBELET: True, KEEPALIVED: True}
        self.enabled = {KUBELET, KEEPALIVED}
        self.containers = [*static_pods.STATIC]
        self.leader, self.ovn = "control-1", {"nb", "sb"}
        self.ill: set[str] = set()  # members of etcd that are not healthy
        self.unready: set[str] = set()  # addresses of API servers
        self.gone: set[str] = set()  # addresses of OVN's members
        self.clings = False  # whether it leads OVN's databases again
        self.behind = [0]
        self.taken = True  # whether another host takes the virtual IP
        self.done: list[str] = []

    def systemctl(self, argv: Sequence[str], **_: object) -> str:
        verb, unit = argv[1], argv[-1]
        if verb == "show":
            state = "active" if self.units.get(unit) else "inactive"
            return f"ActiveState={state}\nUnitFileState={'enabled' if unit in self.enabled else 'disabled'}\n"
        self.done.append(f"{verb} {unit}")
        self.units[unit] = verb != "stop"
        for one in DATABASES:
            if unit == one.unit and not self.clings:
                self.ovn.discard(one.short)
        if unit == KUBELET and verb == "start":
            self.containers = [*static_pods.STATIC]
        return ""

    def run(self, argv: Sequence[str], *, timeout: float, why: str) -> str:  # noqa: ARG002  # NodeHost's signature
        if argv[1] == "ps":
            label = "io.kubernetes.container.name"
            return json.dumps({"containers": [{"id": name, "labels": {label: name}} for name in self.containers]})
        self.end(argv[-1])
        return ""

    def end(self, name: str) -> None:
        self.done.append(f"end {name}")
        if not self.units[KUBELET]:
            self.containers.remove(name)

    def transfer(self) -> None:
        assert self.done[-1] == "end kube-apiserver", "a leader refuses what its own API server writes meanwhile"
        self.done.append("another member of etcd leads")
        self.leader = "control-2"

    def wait_for_ports(self, address: str, ports: Sequence[int], *, timeout: float) -> None:
        assert (address, [*ports], timeout) == ("10.0.0.100", [6443], maintenance.MOVES)
        if not self.taken:
            raise GroundupError("the edge does not answer", where="here", why="nobody holds it", remedy="none")

    def ask(self, database: Database) -> status.Status:
        leads = database.short in self.ovn
        members = [database.member(address) for address in NODES.values()]
        return status.Status(
            cluster="cid", state="cluster member", role="leader" if leads else "follower",
            leader="self" if leads else "abcd", election_timer=4000, behind=0, servers=dict.fromkeys(members, "abcd"),
            own=database.member("10.0.0.1"),
        )  # fmt: skip


class FakeEtcd:
    def __init__(self, world: World, server: str = OWN) -> None:
        self.world, self.own = world, server == OWN

    def members(self) -> tuple[EtcdMember, ...]:
        if self.own and "etcd" not in self.world.containers:
            raise NodeApiError("refused")
        return tuple(
            EtcdMember(
                id=name, name=name, peers=(f"https://{at}:2380",), clients=(f"https://{at}:2379",), learner=False
            )
            for name, at in NODES.items()
        )

    def healthy(self, member: EtcdMember) -> bool:
        return member.name not in self.world.ill

    def leads(self) -> bool:
        self.members()
        return self.world.leader == "control-1"

    def hand_over(self) -> None:
        if self.leads() and not self.world.ill:
            self.world.transfer()

    def behind(self) -> int:
        self.members()
        return self.world.behind.pop(0) if len(self.world.behind) > 1 else self.world.behind[0]


@pytest.fixture
def killer() -> Killer:
    return Killer()


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killer: Killer) -> World:
    world = World(Paths(root=tmp_path))
    (tmp_path / "run/lock").mkdir(parents=True)
    for name in ("end", "transfer"):
        monkeypatch.setattr(world, name, killer.after(getattr(world, name)))
    monkeypatch.setattr(units, "run", world.systemctl)
    monkeypatch.setattr(units, "control", killer.after(units.control))
    monkeypatch.setattr(maintenance, "NodeHost", lambda **_: world)
    for module in (maintenance, rolling_restart):
        monkeypatch.setattr(module, "Etcd", lambda _, server=OWN: FakeEtcd(world, server))
    monkeypatch.setattr(
        rolling_restart, "unready", lambda _, url: "HTTP 500" if url.split("//")[1][:8] in world.unready else None
    )
    monkeypatch.setattr(maintenance, "wait_for_ports", world.wait_for_ports)
    monkeypatch.setattr(status, "ask", world.ask)
    monkeypatch.setattr(
        status, "elsewhere", lambda _, addresses: {one: "cid" for one in addresses if one not in world.gone}
    )
    monkeypatch.setattr(Database, "file", tmp_path)
    for module in (maintenance, rolling_restart, away):
        monkeypatch.setattr(module, "PATIENCE", 0.0)
    return world


def does(step: Any) -> list[str]:
    """Run a step; return its lines."""
    step(changes := Changes(check=False), GIVEN)
    return changes.done


def test_others_that_are_whole_lack_nothing(world: World) -> None:
    world.ill, world.unready, world.gone = {"control-1"}, {"10.0.0.1"}, {"10.0.0.1"}
    assert maintenance.spare(Changes(check=False), GIVEN)["lacking"] == [], "of the host itself, its own layers tell"
    assert world.done == []


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize(
    ("what", "who", "said"),
    [
        ("ill", "control-3", ["control-3: its etcd is not healthy"]),
        ("unready", "10.0.0.2", ["control-2: HTTP 500"]),
        ("gone", "10.0.0.2", [f"{one.name}: the member at 10.0.0.2 is not connected" for one in DATABASES]),
    ],
)
def test_who_lacks_what_is_named_also_when_the_own_etcd_was_ended_by_a_killed_run(
    world: World, what: str, who: str, said: list[str], own: bool
) -> None:
    setattr(world, what, {who})
    world.containers = [*static_pods.STATIC] if own else []
    assert maintenance.spare(Changes(check=False), GIVEN)["lacking"] == said


def test_a_control_host_without_a_member_and_a_member_without_a_host_are_named(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {**GIVEN, "others": {"control-2": "10.0.0.2", "control-9": "10.0.0.9"}, "peers": ["10.0.0.2"]}
    world.ill = {"control-3"}
    assert maintenance.spare(Changes(check=False), given)["lacking"] == [
        "control-9: no member of etcd with a vote", "control-3: its etcd is not healthy",
        *(f"{one.name}: {one.member('10.0.0.3')} is a member, and on no host of the site" for one in DATABASES),
    ]  # fmt: skip
    monkeypatch.setattr(FakeEtcd, "members", lambda _: (_ for _ in ()).throw(NodeApiError("refused")))
    assert maintenance.spare(Changes(check=False), GIVEN)["lacking"] == ["no member of etcd answers"]


HANDS_OVER = [
    f"stop {KEEPALIVED}", *(f"restart {one.unit}" for one in DATABASES), "end kube-apiserver",
    "another member of etcd leads",
]  # fmt: skip


def test_address_databases_and_etcd_go_to_others_in_this_order_and_once(world: World) -> None:
    assert len(does(maintenance.stand_down)) == 4
    assert world.done == HANDS_OVER
    assert does(maintenance.stand_down) == []
    assert world.done == HANDS_OVER, "an API server whose etcd follows goes on"


@pytest.mark.parametrize("effect", range(1, len(HANDS_OVER) + 1))
def test_a_hand_over_that_is_killed_after_any_effect_goes_on(world: World, killer: Killer, effect: int) -> None:
    killer.left = effect
    with pytest.raises(KeyboardInterrupt):
        does(maintenance.stand_down)
    assert world.done == HANDS_OVER[:effect]
    does(maintenance.stand_down)
    assert (world.units[KEEPALIVED], world.ovn, world.leader) == (False, set(), "control-2")
    assert world.units[KUBELET]
    assert world.containers == [*static_pods.STATIC]


def test_an_address_that_nobody_takes_and_a_leadership_that_nobody_takes_are_errors(world: World) -> None:
    world.taken = False
    for _ in range(2):
        with pytest.raises(GroundupError, match="the edge does not answer"):
            does(maintenance.stand_down)
    assert world.done == [f"stop {KEEPALIVED}", f"start {KEEPALIVED}"] * 2, "it has the address again at once"
    world.taken, world.clings = True, True
    with pytest.raises(
        GroundupError, match="another member of OVN_Northbound was to lead, and this host's leads again"
    ):
        does(maintenance.stand_down)


ENDS = [f"stop {KUBELET}", *(f"end {name}" for name in ("kube-apiserver", "etcd"))]


def test_before_a_reboot_the_api_server_ends_then_etcd_and_nobody_starts_them(world: World) -> None:
    does(maintenance.stand_down)
    world.done.clear()
    does(maintenance.halt)
    assert [line for line in world.done if line in ENDS] == ENDS
    assert (world.containers, world.units[KUBELET]) == ([], False)


def test_a_host_that_the_others_need_meanwhile_does_not_reboot(world: World) -> None:
    world.ill = {"control-2"}
    with pytest.raises(GroundupError, match="control-1 is left as it is"):
        does(maintenance.halt)
    assert world.done == []


def test_a_kubelet_whose_pods_could_not_be_ended_is_started_again_and_a_killed_end_goes_on(
    world: World, killer: Killer
) -> None:
    world.leader, killer.left = "control-2", 3
    with pytest.raises(KeyboardInterrupt):
        does(maintenance.halt)
    assert world.units[KUBELET]
    world.units[KUBELET], world.containers = False, ["etcd"]  # a run that nobody could tell to end
    world.done.clear()
    does(maintenance.halt)
    assert (world.containers, world.done) == ([], [f"stop {KUBELET}", "end etcd"])


def test_a_host_takes_back_what_it_handed_over_when_its_etcd_and_api_serve(world: World) -> None:
    world.units = {KUBELET: False, KEEPALIVED: False}
    world.containers, world.behind = [], [40, 0]
    assert maintenance.stand_up(Changes(check=False), {**GIVEN, "timeout": 30})
    assert world.done == [f"start {KUBELET}", f"start {KEEPALIVED}"]
    world.units[KEEPALIVED], world.enabled = False, {KUBELET}
    assert does(maintenance.stand_up) == [], "a unit that the site does not have is not started"


@pytest.mark.parametrize(
    ("behind", "unready", "etcd", "said"),
    [
        (7, set(), True, "its etcd is 7 entries behind"),
        (0, {"10.0.0.1"}, True, "HTTP 500"),
        (0, set(), False, "its etcd: refused"),
    ],
)
def test_a_host_that_does_not_serve_does_not_take_the_address(
    world: World, behind: int, unready: set[str], etcd: bool, said: str
) -> None:
    world.units[KEEPALIVED] = False
    world.behind, world.unready = [behind], unready
    if not etcd:
        world.containers = []
    with pytest.raises(GroundupError, match=f"the control plane of control-1 does not serve: {said}"):
        does(maintenance.stand_up)
    assert world.done == []
