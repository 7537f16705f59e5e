"""No verb switches a machine off by a controller that is another's, or that nobody knows."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import erase
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.erase import Erasure
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.identity import identity_file
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.match import MachineIdentity
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.tests.unit.metal.inventories import BOOT, OTHER, told
from ansible_collections.groundup.cloud.tests.unit.metal.test_leave import Seed as Leaving

WANTED = Erasure(name="found-1", method="metadata", stays=True, force=frozenset({"disks"}), timeout=1)
RIGHT: dict[str, Any] = {"serial": "S1", "macs": [BOOT.format(1)]}


class Seed(Leaving):
    """Ironic that has the machine installed, and what its controller says."""

    def __init__(self, says: dict[str, Any] | None, **node: Any) -> None:
        super().__init__("active", name="found-1", **node)
        self.says, self.asked = says, list[dict[str, str]]()
        self.told = told(1)

    def controller(self, **given: str) -> dict[str, Any]:
        self.asked.append(given)
        if self.says is None:
            raise GroundupError("it does not answer", where="", why="", remedy="")
        return self.says


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(tmp_path / "password"))
    (tmp_path / "password").write_text("of this test")
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    text = (COLLECTION / "inventories/lab-metal/site.yml").read_text()
    (tmp_path / "site.yml").write_text(text.replace("count: 1\n    offset", "count: 2\n    offset"))
    found = make_plan(load_site(tmp_path / "site.yml"))
    open_store(found.site, write=True).ensure(["ironic/groundup", "bmc/default"])
    who = MachineIdentity(node="n", serial="S2", macs=(BOOT.format(2),), ports={})
    place = identity_file(home_of(found.site), "found-2")
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(asdict(who)))
    return found


def go(plan: Plan, monkeypatch: pytest.MonkeyPatch, seed: Seed, *, wanted: Erasure = WANTED) -> dict[str, Any]:
    monkeypatch.setattr(erase, "_ironic", lambda *_: seed)
    return erase.carry_out(plan, wanted, lambda _line: None)


def test_the_disks_that_would_be_erased_are_named_before_they_are_consented_to(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ramdisk erases all that it sees, a LUN of the SAN, too."""
    seed = Seed(RIGHT)
    seed.told = told(1)
    seed.told["inventory"]["disks"].append({"name": "/dev/sdb", "size": 2**44, "serial": "LUN7", "model": "SAN"})
    seed.told["plugin_data"]["groundup_disks"].append({"name": "sdb", "type": "disk", "fstype": "xfs", "label": "data"})
    monkeypatch.setattr(erase, "_ironic", lambda *_: seed)
    named = "by its last inventory: vda 12 GiB; sdb 16384 GiB serial lun7 model san, xfs data"
    with pytest.raises(GroundupError, match="everything on the disks of found-1 would be lost") as refused:
        erase.foreseen(plan, replace(WANTED, force=frozenset()))
    assert refused.value.what.endswith(named)
    assert erase.foreseen(plan, WANTED)["changes"][1].endswith(named)
    seed.told = {}
    with pytest.raises(GroundupError, match=r"would be lost\n"):
        erase.foreseen(plan, replace(WANTED, force=frozenset()))


@pytest.mark.parametrize("stays", [True, False], ids=["reprovision", "erase"])
@pytest.mark.parametrize(
    "says",
    [
        {"serial": "S9", "macs": [BOOT.format(9)]},
        {"serial": "S9", "macs": []},
        {"serial": "", "macs": [BOOT.format(9)]},
        {"serial": "s2", "macs": []},
        {"serial": "S1", "macs": [BOOT.format(2)]},
        {"serial": "", "macs": [], "several": ["/redfish/v1/Systems/A", "/redfish/v1/Systems/B"]},
    ],
    ids=["another", "its serial", "its ports", "of found-2", "ports of found-2", "several"],
)
def test_a_machine_whose_controller_has_another_gets_no_order(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, says: dict[str, Any], stays: bool
) -> None:
    seed, wanted = Seed(says), replace(WANTED, stays=stays, force=frozenset({"disks", "controller-silent"}))
    monkeypatch.setattr(erase, "_ironic", lambda *_: seed)
    for act in (erase.foreseen, partial(erase.carry_out, say=print)):
        with pytest.raises(GroundupError, match=r"the management controller 10\.77\.1\.\d+ of found-1") as refused:
            act(plan, wanted)
        assert "found-1 has serial S1, ports 52:54:00:00:00:01" in str(refused.value)
        assert str((plan.hosts["found-1"].bmc or {})["address"]) in refused.value.where
        assert str(says["serial"]) in refused.value.where
    assert seed.done == [], "neither an order nor the end of its call"


@pytest.mark.parametrize(
    "says",
    [None, {"serial": "", "macs": []}, {"serial": "N/A", "macs": ["00:00:00:00:00:00"]}, {**RIGHT, "serial": "S9"}],
    ids=["no answer", "nothing", "fillers", "two numbers"],
)
def test_what_no_controller_confirms_needs_a_consent_of_its_own(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, says: dict[str, Any] | None
) -> None:
    seed = Seed(says)
    with pytest.raises(GroundupError, match="does not say that it is its own") as refused:
        go(plan, monkeypatch, seed)
    assert '"reprovision_force": [controller-silent, disks]' in refused.value.remedy
    assert seed.done == []
    go(plan, monkeypatch, seed, wanted=replace(WANTED, force=frozenset({"disks", "controller-silent"})))
    assert "deleted" in seed.done


def test_a_person_who_approved_two_numbers_is_not_asked_again(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    seed = Seed({**RIGHT, "serial": "S9"}, extra={"groundup_approved": "found-1"})
    go(plan, monkeypatch, seed)
    assert "deleted" in seed.done


@pytest.mark.parametrize(
    "says", [RIGHT, {"serial": "", "sku": "s1", "macs": []}, {"serial": "", "macs": [OTHER.format(1)]}]
)
def test_a_machine_whose_controller_confirms_it_is_erased_by_the_address_of_the_site_file(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, says: dict[str, Any]
) -> None:
    seed = Seed(says, driver_info={"redfish_address": "https://10.77.1.250"})
    go(plan, monkeypatch, seed)
    address = str((plan.hosts["found-1"].bmc or {})["address"])
    assert (seed.asked[0]["address"], seed.asked[0]["serial"]) == (address, "S1")
    pointed, *orders = seed.done
    assert f"'redfish_address': 'https://{address}'" in pointed
    assert orders[:2] == ["expect", "deleted"]


def test_a_machine_that_left_the_site_file_is_asked_at_the_address_that_ironic_has(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = {"redfish_address": "https://10.77.1.77", "redfish_username": "admin"}
    gone = replace(WANTED, name="found-7", stays=False)
    seed = Seed({"serial": "S9", "macs": []}, driver_info=there)
    with pytest.raises(GroundupError, match="found-7 has another machine"):
        go(plan, monkeypatch, seed, wanted=gone)
    assert seed.done == []
    seed.says = RIGHT
    go(plan, monkeypatch, seed, wanted=gone)
    assert (seed.asked[0]["address"], seed.done[-2:]) == ("10.77.1.77", ["delete", "expect"])


@pytest.mark.parametrize(("state", "force"), [("active", {"disks", "dead"}), ("enroll", {"disks"})])
def test_what_needs_no_power_asks_no_controller(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, state: str, force: set[str]
) -> None:
    seed = Seed(None)
    assert seed.known
    seed.known["provision_state"] = state
    go(plan, monkeypatch, seed, wanted=replace(WANTED, stays=False, force=frozenset(force)))
    assert seed.asked == []
