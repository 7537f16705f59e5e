"""Machines that nobody knows: waited for, found, kept apart, and gone on with after a kill."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import discovery as discovery_
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.api import BusyError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.discovery import MachineDiscovery, known_macs
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.identity import identity, identity_file
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal, file_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.match import judge
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.sighting import read
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import DISCOVERED
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.tests.unit.metal.inventories import BOOT, OTHER, USED, told

BOOTS = BOOT.format(1).replace(":", "-")


@pytest.fixture
def plan() -> Plan:
    return make_plan(load_site(COLLECTION / "inventories/lab-metal/site.yml"))


class Seed:
    """Ironic: nodes by id, each with what its ramdisk told; none before the look ``late``."""

    def __init__(self, *inventories: dict[str, Any] | None, late: int = 0) -> None:
        numbers = range(1, len(inventories) + 1)
        self.nodes: dict[str, dict[str, Any]] = {
            f"node-{n}": {"uuid": f"node-{n}", "name": None, "extra": {}} for n in numbers
        }
        self.told = dict(zip(self.nodes, inventories, strict=True))
        self.late = late
        self.asked: list[dict[str, str]] = []
        self.controllers: dict[str, Any] | None = None
        self.ports = {key: {"a port"} for key in self.nodes}

    def discovered(self) -> list[dict[str, Any]]:
        self.late -= 1
        return [] if self.late >= 0 else [node for node in self.nodes.values() if not node["name"]]

    def inventory(self, key: str) -> dict[str, Any] | None:
        return self.told[key]

    def macs(self, key: str) -> set[str]:
        return self.ports[key]

    def delete(self, key: str) -> None:
        del self.nodes[key]

    def node(self, key: str) -> dict[str, Any] | None:
        return self.now(key)

    def now(self, key: str) -> dict[str, Any] | None:
        return next((node for node in self.nodes.values() if key in (node["uuid"], node["name"])), None)

    def controller(self, **given: str) -> dict[str, Any]:
        self.asked.append(given)
        if self.controllers is None:
            raise GroundupError("it is off", where="", why="", remedy="")
        return self.controllers

    def change(self, key: str, fields: dict[str, Any]) -> None:
        for path, value in fields.items():
            first, _, inner = path.lstrip("/").partition("/")
            (self.nodes[key].setdefault(first, {}) if inner else self.nodes[key])[inner or first] = value


def discovery(seed: Seed, plan: Plan, home: Path, *, seconds: float = 0) -> MachineDiscovery:
    given: Any = seed
    return MachineDiscovery(
        ironic=given, plan=plan, home=home, say=lambda _line: None, seconds=seconds, sleep=lambda _s: None,
        password=lambda name: f"password of {name}",
    )  # fmt: skip


def test_a_machine_is_waited_for_named_and_known_by_what_it_told(plan: Plan, tmp_path: Path) -> None:
    seed = Seed(told(1), late=2)
    work = discovery(seed, plan, tmp_path, seconds=60)
    work._looked = -100.0
    host = work.identified(plan.hosts["found-1"])
    assert {port.network: port.mac for port in host.interfaces} == {
        "management": OTHER.format(1),
        "provisioning": BOOT.format(1),
    }
    assert (seed.nodes["node-1"]["name"], seed.nodes["node-1"]["extra"][DISCOVERED]) == ("found-1", True)
    assert [line["state"] for line in Journal(file_of(tmp_path, "found-1")).lines()] == [
        "expected", "discovered", "matched", "approved",
    ]  # fmt: skip
    assert json.loads((tmp_path / "discovered" / f"{BOOTS}.json").read_text()) == told(1)
    assert {"mac": BOOT.format(1), "address": "10.77.2.72", "name": "found-1"} in known_macs(plan, tmp_path)


def test_a_machine_that_is_newer_than_the_listing_of_nodes_is_named(plan: Plan, tmp_path: Path) -> None:
    class Listed(Seed):
        def node(self, key: str) -> dict[str, Any] | None:  # noqa: ARG002  # the Seed's
            return None

    seed = Listed(told(1))
    discovery(seed, plan, tmp_path).identified(plan.hosts["found-1"])
    assert seed.nodes["node-1"]["name"] == "found-1", "else Ironic is given a second node with its MAC address"


@pytest.mark.parametrize("place", ["discovered", "change"])
def test_an_ironic_that_starts_again_meanwhile_is_waited_for(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    seed, silent = Seed(told(1)), [True, True]
    work = getattr(seed, place)

    def starts(*given: Any) -> Any:
        if silent:
            silent.pop()
            raise BusyError("the seed's Ironic does not answer", where="", why="", remedy="")
        return work(*given)

    monkeypatch.setattr(seed, place, starts)
    found = discovery(seed, plan, tmp_path, seconds=60)
    monkeypatch.setattr(discovery_, "PAUSE", 0.0)
    assert found.identified(plan.hosts["found-1"]).name == "found-1"
    assert seed.nodes["node-1"]["name"] == "found-1"


def test_a_run_goes_on_with_the_machine_that_a_killed_one_found(plan: Plan, tmp_path: Path) -> None:
    discovery(Seed(told(1)), plan, tmp_path).identified(plan.hosts["found-1"])
    seed = Seed(told(1))  # its name was not written yet
    assert discovery(seed, plan, tmp_path).look() == {}, "it is nobody's no longer"
    discovery(seed, plan, tmp_path).identified(plan.hosts["found-1"])
    assert seed.nodes["node-1"]["name"] == "found-1"


def test_used_disks_wait_for_approval_which_names_the_machine_that_was_seen(plan: Plan, tmp_path: Path) -> None:
    seed = Seed({**told(1), "plugin_data": {"groundup_disks": [USED]}})
    with pytest.raises(GroundupError, match="disks are in use") as refused:
        discovery(seed, plan, tmp_path).identified(plan.hosts["found-1"])
    assert "approve_machine=found-1" in refused.value.remedy
    assert identity(tmp_path, "found-1") is None
    assert Journal(file_of(tmp_path, "found-1")).lines()[-1]["state"] == "matched"
    found = discovery(seed, plan, tmp_path).waiting("found-1")
    assert (found.node, "serial S1" in str(found)) == ("node-1", True)
    approval = found.approval("found-1")
    seed.nodes["node-1"]["extra"] = dict(approval)
    assert discovery(seed, plan, tmp_path).identified(plan.hosts["found-1"]).name == "found-1"
    assert seed.nodes["node-1"]["extra"] == {"site": "lab-metal", "rack": "r1", DISCOVERED: True, **approval}


def test_nobody_approved_a_machine_that_needed_no_question(plan: Plan, tmp_path: Path) -> None:
    seed = Seed(told(1))
    host = discovery(seed, plan, tmp_path).identified(plan.hosts["found-1"])
    later = read(seed.nodes["node-1"], told(1, groundup_disks=[USED]))
    assert "disks are in use" in str(judge(plan, host, later))


def test_one_that_never_shows_itself_is_a_card_that_names_who_did(plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(GroundupError, match=r"there is serial S1.*no disk of 4 GiB"):
        discovery(Seed(told(1, gib=1)), plan, tmp_path).identified(plan.hosts["found-1"])
    assert Journal(file_of(tmp_path, "found-1")).lines()[-1]["card"]["remedy"].startswith("switch it on")
    kept = Journal(tmp_path / "discovered" / f"{BOOTS}.jsonl").lines()
    assert [line["state"] for line in kept] == ["discovered", "quarantined"]


def test_a_machine_of_another_controller_is_not_the_one(plan: Plan, tmp_path: Path) -> None:
    seed = Seed(told(1), told(2))
    seed.controllers = {"serial": "", "macs": [OTHER.format(2)]}
    discovery(seed, plan, tmp_path).identified(plan.hosts["found-1"])
    assert seed.nodes["node-2"]["name"] == "found-1"
    assert seed.asked == [{"address": "10.77.1.72", "user": "admin", "password": "password of bmc/default"}]


def test_nobody_is_approved_before_it_was_seen(plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(GroundupError, match="no machine waits to become found-1"):
        discovery(Seed(), plan, tmp_path).waiting("found-1")


def test_one_that_tells_garbage_is_not_approved_and_stops_no_run(plan: Plan, tmp_path: Path) -> None:
    seed = Seed({"inventory": {"interfaces": "?"}})
    seed.nodes["node-1"] |= {"name": "worker-1", "provision_state": "manageable"}
    seed.told["worker-1"] = seed.told["node-1"]
    with pytest.raises(GroundupError, match="no machine waits to become worker-1"):
        discovery(seed, plan, tmp_path).approve("worker-1", about="")


def test_garbage_and_what_is_still_being_told_stop_no_other(plan: Plan, tmp_path: Path) -> None:
    seed = Seed({"inventory": {"interfaces": "?"}}, None, told(3), None)
    seed.nodes["node-4"]["last_error"] = "failed to run inspection hooks"
    assert discovery(seed, plan, tmp_path).identified(plan.hosts["found-1"]).name == "found-1"
    assert Journal(tmp_path / "discovered/node-1.jsonl").lines()[-1]["state"] == "quarantined"
    assert "hooks" in Journal(tmp_path / "discovered/node-4.jsonl").lines()[-1]["card"]["what"]
    assert not (tmp_path / "discovered/node-2.jsonl").exists(), "it is still being told"
    assert seed.nodes["node-3"]["name"] == "found-1"


def test_a_machine_whose_port_is_written_is_not_waited_for(plan: Plan, tmp_path: Path) -> None:
    host = plan.hosts["worker-1"]
    assert discovery(Seed(), plan, tmp_path).identified(host) == host
    assert not identity_file(tmp_path, host.name).exists()


def test_a_machine_that_tells_of_itself_twice_at_one_moment_is_one_machine(plan: Plan, tmp_path: Path) -> None:
    seed = Seed(told(1), told(1), told(1))
    seed.ports |= {"node-1": set(), "node-3": set()}
    assert list(discovery(seed, plan, tmp_path).look()) == ["node-2"], "the one that Ironic gave its ports"
    discovery(seed, plan, tmp_path).identified(plan.hosts["found-1"])
    assert list(seed.nodes) == ["node-2"], "nobody's nodes are forgotten"


def test_two_that_say_the_same_and_differ_are_two_machines(plan: Plan, tmp_path: Path) -> None:
    seed = Seed(told(1), told(1, cores=4))
    seed.ports["node-2"] = set()
    assert {verdict.state for _, verdict in discovery(seed, plan, tmp_path).look().values()} == {"quarantined"}
    both = Seed(told(1), told(1))
    assert {verdict.state for _, verdict in discovery(both, plan, tmp_path / "2").look().values()} == {"quarantined"}


def test_what_a_machine_told_is_fetched_once(plan: Plan, tmp_path: Path) -> None:
    seed, asked = Seed(told(1, cores=1), None), list[str]()
    inventory = seed.inventory
    seed.inventory = lambda key: asked.append(key) or inventory(key)  # type: ignore[method-assign,func-returns-value]
    found = discovery(seed, plan, tmp_path)
    for _ in range(3):
        found.look()
    assert sorted(asked) == ["node-1", "node-2", "node-2", "node-2"]


def test_one_of_two_serial_numbers_of_a_firmware_can_be_approved(plan: Plan, tmp_path: Path) -> None:
    seed = Seed(told(1))
    seed.controllers = {"serial": "CZ34A9", "macs": [OTHER.format(1)]}
    with pytest.raises(GroundupError, match="waits for approval"):
        discovery(seed, plan, tmp_path).identified(plan.hosts["found-1"])
    assert identity(tmp_path, "found-1") is None
    work = discovery(seed, plan, tmp_path)
    work.approve("found-1", about=work.waiting("found-1").shown)
    assert discovery(seed, plan, tmp_path).identified(plan.hosts["found-1"]).name == "found-1"
    other = Seed(told(1))
    other.controllers = {"serial": "CZ34A9", "macs": [OTHER.format(9)]}
    with pytest.raises(GroundupError, match="no machine waits"):
        discovery(other, plan, tmp_path / "2").waiting("found-1")
