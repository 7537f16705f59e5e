"""Machines of a site, many at once: one that fails stops no other; host keys come from the call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.enough import SuccessCriteria
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import controller as reports
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import erase, journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import install as module
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.batch import Failed, LeftError, left_behind
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.install import (
    InstallOptions,
    install,
    refuse_others,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal, alone, home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.provision import Deployment
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import MachineCard, WayStep
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION, state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish.digests import PublishedDigests, save
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.tests.unit.metal.test_decisions import Paper

KEY, OLD = "ssh-ed25519 NEW", "10.77.0.64,worker-1 ssh-ed25519 OLD"
OTHER = "10.77.0.8,seed-1 ssh-ed25519 SEED"


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A site of two dark machines whose seed is filled, and Ironic that has both installed."""
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(tmp_path / "password"))
    (tmp_path / "password").write_text("of this test")
    text = (COLLECTION / "inventories/lab-metal/site.yml").read_text()
    text = text.replace("count: 1\n    rack: r1\n    bmc", "count: 2\n    rack: r1\n    bmc")
    one = '      worker-1: {ports: {management: {mac: "52:54:00:4d:00:01"}}}\n'
    two = one.replace("worker-1", "worker-2").replace("4d:00:01", "4d:00:02")
    (tmp_path / "site.yml").write_text(text.replace(one, one + two))
    plan = make_plan(load_site(tmp_path / "site.yml"))
    open_store(plan.site, write=True).ensure(["ironic/groundup", "bmc/default"])
    state = state_dir(plan.site)
    (state / "ssh").mkdir(parents=True)
    (state / "ssh/id_ed25519.pub").write_text("ssh-ed25519 SITE\n")
    (state / "ssh/known_hosts").write_text(f"{OTHER}\n{OLD}\n")
    (state / "ca.crt").write_text("CA\n")
    assert plan.metal
    save(plan.site, PublishedDigests(files={plan.metal.image: "0" * 64}))
    monkeypatch.setattr(module, "Watched", Seed)
    return plan


class Seed:
    """Ironic that knows no machine."""

    def __init__(self, **given: Any) -> None:
        assert given["password"]

    def node(self, _identity: str) -> None:
        return None

    def nodes(self) -> dict[str, Any]:
        return {}


class Known:
    """Ironic that knows every machine."""

    def node(self, identity: str) -> dict[str, Any]:
        return {"name": identity, "provision_state": "active", "uuid": "n"}

    def inventory(self, _: str) -> None:
        """Return that no ramdisk has told what it is."""


def provided(monkeypatch: pytest.MonkeyPatch, *, failing: str = "") -> list[Deployment]:
    """Have each machine's way end at once, that of ``failing`` with an error; return what was wanted."""
    seen: list[Deployment] = []

    def provision(_ironic: Seed, wanted: Deployment, _journal: Journal, _say: Any, **_more: Any) -> Any:
        seen.append(wanted)
        if wanted.name == failing:
            raise GroundupError("no power", where=wanted.name, why="dark", remedy="look")
        return {"called": 1.0, "host_keys": [KEY]}, True

    monkeypatch.setattr(module, "provision", provision)
    return seen


def go(
    plan: Plan, *, check: bool = False, changes: Changes | None = None, at_once: int = 2, wait_all: bool = False,
    **more: Any,
) -> Failed:  # fmt: skip
    names = [name for name, host in plan.hosts.items() if host.group == "worker"]
    options = InstallOptions(at_once=at_once, timeout=1, pause=0.01, wait_all=wait_all)
    return install(changes or Changes(check=check), plan, names, lambda _line: None, options, **more)


def test_a_machine_is_known_by_the_keys_of_its_call_and_no_longer_by_older_ones(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    provided(monkeypatch)
    changes = Changes(check=False)
    assert go(plan, changes=changes) == {}
    done = changes.done
    known = (state_dir(plan.site) / "ssh/known_hosts").read_text()
    assert OTHER in known
    assert "OLD" not in known
    assert known.count(KEY) == 2
    assert sorted(line for line in done if line.startswith("install")) == ["install worker-1", "install worker-2"]


def test_what_is_known_of_machines_stays_as_it_is_whoever_of_them_comes_first(plan: Plan) -> None:
    known = state_dir(plan.site) / "ssh/known_hosts"
    workers = [plan.hosts[name] for name in ("worker-1", "worker-2")]
    for host in workers:
        module.remember(Changes(check=False), known, plan, host, [KEY])
    before, again = known.read_text(), Changes(check=False)
    for host in (*workers, *reversed(workers)):
        module.remember(again, known, plan, host, [KEY])
    assert known.read_text() == before
    assert again.done == []


def test_the_image_has_the_digest_that_was_published_and_the_seed_s_address(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = provided(monkeypatch)
    go(plan)
    assert {one.image["url"] for one in seen} == {"https://10.77.0.8:8080/machine-13/13/machine.qcow2"}
    assert seen[0].image["sha256"] == "0" * 64
    assert seen[0].configdrive("t")["meta_data"]["public_keys"] == {"key-0": "ssh-ed25519 SITE"}


def test_one_that_fails_stops_no_other_and_is_named(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    provided(monkeypatch, failing="worker-1")
    configured: list[str] = []
    failed = go(plan, then=configured.append)
    assert {name: error.what for name, error in failed.items()} == {"worker-1": "no power"}
    assert configured == ["worker-2"]


def test_a_fault_of_ours_with_one_machine_stops_no_other(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    provided(monkeypatch)

    def broken(name: str) -> None:
        if name == "worker-1":
            raise ValueError("unforeseen")

    failed = go(plan, then=broken)
    assert failed["worker-1"].what == "ValueError: unforeseen"
    assert list(failed) == ["worker-1"]


def test_a_machine_that_another_run_is_at_work_on_is_left_to_it(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = provided(monkeypatch)
    home = home_of(plan.site)
    monkeypatch.setattr(journal, "RELEASED", 0.0)
    with alone(home, "worker-1"):
        failed = go(plan)
        wanted = erase.Erasure(name="worker-1", method="full", stays=False, force=frozenset(("disks",)), timeout=1)
        monkeypatch.setattr(erase, "_ironic", lambda *_: Known())
        with pytest.raises(GroundupError, match="another run is at work on it"):
            erase.carry_out(plan, wanted, lambda _line: None)
    assert {name: error.what for name, error in failed.items()} == {"worker-1": "another run is at work on it"}
    assert [one.name for one in seen] == ["worker-2"]
    assert home.stat().st_mode & 0o777 == 0o700
    assert go(plan) == {}


def test_no_machine_begins_of_a_group_of_which_more_failed_than_may(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = provided(monkeypatch, failing="worker-1")
    strict = replace(plan, max_unavailable={**plan.max_unavailable, "worker": 0})
    failed = go(strict, at_once=1)
    assert [one.name for one in seen] == ["worker-1"]
    assert failed["worker-2"].what == "it was not begun"
    assert "1 of worker failed, at most 0 may" in failed["worker-2"].why


ONE = SuccessCriteria(size=2, machines=1, racks={}, critical=("worker-2",))


def leaving(monkeypatch: pytest.MonkeyPatch, *, slow: str) -> None:
    """Have the way of ``slow`` end when enough serve, and that of others at once."""

    def provision(_ironic: Seed, wanted: Deployment, journal: Journal, _say: Any, *, left: Any, **_more: Any) -> Any:
        if wanted.name == slow and left.wait(0.5):
            raise left_behind(slow, "provisioning, its ramdisk boots")
        journal.note(WayStep(state="installed", verb="done"))
        return {"called": 1.0, "host_keys": [KEY]}, True

    monkeypatch.setattr(module, "provision", provision)


def test_a_run_leaves_a_machine_once_enough_serve_and_the_next_one_waits_for_it(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaving(monkeypatch, slow="worker-1")
    some = replace(plan, enough={"worker": ONE})
    (left,) = go(some).values()
    assert isinstance(left, LeftError)
    assert (left.where, left.what) == ("worker-1", "pending: provisioning, its ramdisk boots")
    assert go(some) == {}, "it is what the second run is for"


def test_only_a_machine_of_this_run_begins_again() -> None:
    refuse_others(["worker-1"], ["worker-1", "worker-2"])
    with pytest.raises(GroundupError, match="worker-9 cannot begin again"):
        refuse_others(["worker-1", "worker-9"], ["worker-1", "worker-2"])


def test_a_decision_made_while_nobody_ran_is_acted_on_by_the_next_run(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = provided(monkeypatch)
    failed = WayStep(state="failed", verb="fail", card=MachineCard(what="no power", why="", remedy=""))
    Journal(home_of(plan.site) / "worker-1.jsonl").note(failed)
    page: Any = Paper({"machine": "worker-1", "verb": "retry"})
    assert go(plan, page=page) == {}
    assert {one.name: one.again for one in seen} == {"worker-1": True, "worker-2": False}
    assert page.decisions() == []


def test_all_are_waited_for_where_the_run_says_so(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    leaving(monkeypatch, slow="worker-1")
    assert go(replace(plan, enough={"worker": ONE}), wait_all=True) == {}


def test_critical_machines_begin_first(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = provided(monkeypatch)
    (left,) = go(replace(plan, enough={"worker": ONE}), at_once=1).values()
    assert ([one.name for one in seen], left.what) == (["worker-2"], "pending: it waits for its turn")


def test_an_image_that_the_seed_does_not_serve_is_named_before_any_machine_is_touched(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = provided(monkeypatch)
    save(plan.site, PublishedDigests())
    with pytest.raises(GroundupError, match=r"does not serve machine-13/13/machine.qcow2"):
        go(plan)
    assert seen == []


def test_a_controller_is_asked_whose_it_is_before_any_order(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    written = {port.mac for port in plan.hosts["worker-2"].interfaces if port.mac}
    told_ = {"serial": "", "macs": sorted(written), "system": "/redfish/v1/Systems/System_0"}
    asked = list[str]()

    def controller(_seed: Seed, **given: str) -> dict[str, Any]:
        asked.append(given["address"])
        return told_

    monkeypatch.setattr(Seed, "controller", controller, raising=False)
    first, second = sorted(provided_by(plan, monkeypatch), key=lambda one: one.name)
    assert asked == [], "before it is to power anything"
    card = first.guard()
    assert card
    assert "is that of worker-2" in card.what
    assert second.guard() is None
    assert second.node["driver_info"]["redfish_system_id"] == "/redfish/v1/Systems/System_0"
    assert len(asked) == 2
    monkeypatch.setattr(reports, "AGE", -1.0)
    assert first.guard()
    assert len(asked) == 3, "what is old is asked for again"


def provided_by(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> list[Deployment]:
    seen = provided(monkeypatch)
    go(plan)
    return seen
