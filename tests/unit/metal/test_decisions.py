"""What persons decide about machines: kept once, acted on by a run, refused where it cannot be, and answered."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.api import BusyError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.decisions import Desk
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.discovery import MachineDiscovery
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal, file_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import MachineCard, WayStep, possible
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.tests.unit.metal.inventories import USED, told
from ansible_collections.groundup.cloud.tests.unit.metal.test_discovery import Seed, discovery

PROGRAM = COLLECTION / "roles/ironic/files/machines/machines_decisions.py"
CARD = MachineCard(what="no power", why="it cannot be booted", remedy="see its cable")
BY = "operator from 10.0.0.9"


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(load_site(COLLECTION / "inventories/lab-metal/site.yml"))


@pytest.fixture
def program() -> Any:
    found = ModuleType("machines_decisions")
    exec(compile(PROGRAM.read_text(), PROGRAM, "exec"), found.__dict__)  # noqa: S102  # a program of ours
    return found


class Paper:
    """The page of a seed: open decisions, and what was answered."""

    def __init__(self, *records: dict[str, Any]) -> None:
        self.records = [{"number": str(n), "by": BY, "about": "", **one} for n, one in enumerate(records)]
        self.answers: dict[str, str] = {}

    def decisions(self) -> list[dict[str, Any]]:
        return [one for one in self.records if one["number"] not in self.answers]

    def answer(self, number: str, outcome: str) -> str:
        self.answers[number] = outcome
        return ""


def desk(page: Paper, discovered: MachineDiscovery, home: Path) -> Desk:
    given: Any = page
    names = frozenset(("worker-1", "found-1"))
    return Desk(page=given, discovered=discovered, home=home, names=names, say=lambda _line: None)


def approval(**more: Any) -> dict[str, Any]:
    return {"machine": "found-1", "verb": "approve", **more}


def test_a_decision_is_kept_once_outlives_a_restart_and_is_open_until_it_is_answered(
    program: Any, tmp_path: Path
) -> None:
    kept = program.Decisions(tmp_path / "kept")
    first = kept.take("worker-1", "approve", BY, about="node-1")
    assert kept.take("worker-1", "approve", "somebody else", about="node-1") == first, "once is enough"
    with pytest.raises(program.RefusedError, match=r"approve of operator from .* is not answered yet"):
        kept.take("worker-1", "retry", BY)
    with pytest.raises(program.RefusedError, match="is not answered yet"):
        kept.take("worker-1", "approve", BY, about="node-2")
    again = program.Decisions(tmp_path / "kept")
    assert again.open() == [first]
    again.answer(first["number"], "done")
    assert again.open() == []
    assert again.all()["worker-1"]["outcome"] == "done"
    assert again.take("worker-1", "retry", BY)["number"] != first["number"]


@pytest.mark.parametrize("name", ["../evil", "", "a/b", ".x", "x" * 64, None, 3, {"a": 1}, "A"])
def test_a_name_that_is_no_machine_s_becomes_no_file(program: Any, tmp_path: Path, name: Any) -> None:
    kept = program.Decisions(tmp_path / "kept")
    with pytest.raises(program.RefusedError):
        kept.take(name, "approve", BY)
    with pytest.raises(program.RefusedError):
        kept.take("worker-1", "erase", BY)
    assert list(tmp_path.rglob("*.json")) == []


def test_a_record_that_was_broken_off_is_no_decision(program: Any, tmp_path: Path) -> None:
    program.Decisions(tmp_path / "kept").take("worker-1", "retry", BY)
    for name, text in (("a", "{"), ("b", "[]"), ("c", '{"machine": "c"}')):
        (tmp_path / f"kept/{name}.json").write_text(text)
    assert list(program.Decisions(tmp_path / "kept").all()) == ["worker-1"]


def test_what_may_be_decided_follows_from_where_the_machine_is() -> None:
    asks = {"state": "failed", "card": {"asks": "node-1"}}
    assert possible(asks) == {"approve": "", "retry": "it is failed and waits for approval"}
    assert possible({"state": "failed", "card": {"what": "x"}}) == {
        "approve": "it is failed and does not wait for approval",
        "retry": "",
    }
    assert possible({})["retry"] == "it is expected"
    assert possible({"state": "serving", "card": None})["approve"] == "it is serving and does not wait for approval"


def test_an_approval_lets_the_machine_go_on_that_was_seen_and_the_journal_says_who(plan: Plan, tmp_path: Path) -> None:
    seed = Seed({**told(1), "plugin_data": {"groundup_disks": [USED]}})
    found = discovery(seed, plan, tmp_path)
    with pytest.raises(GroundupError, match="waits for approval"):
        found.identified(plan.hosts["found-1"])
    asks = Journal(file_of(tmp_path, "found-1")).last["card"]["asks"]
    assert asks == found.waiting("found-1").shown
    page = Paper(approval(about=asks))
    assert desk(page, found, tmp_path).turn() == ["found-1"]
    assert page.answers == {"0": "done: a run goes on with it"}
    assert f"approved by {BY}: serial S1" in Journal(file_of(tmp_path, "found-1")).doing
    assert found.identified(plan.hosts["found-1"]).name == "found-1", "at once, whatever was seen a moment ago"


@pytest.mark.parametrize("about", ["node-7", ""], ids=["another", "nobody in particular"])
def test_an_approval_of_one_machine_is_none_of_another_that_came_in_its_place(
    plan: Plan, tmp_path: Path, about: str
) -> None:
    seed = Seed({**told(1), "plugin_data": {"groundup_disks": [USED]}})
    page = Paper(approval(about=about))
    assert desk(page, discovery(seed, plan, tmp_path), tmp_path).turn() == []
    assert page.answers["0"].startswith("refused: another machine waits to become found-1 by now: serial S1")
    assert "groundup_approved" not in str(seed.nodes)


def test_an_approval_of_what_was_on_its_disks_is_none_of_what_is_there_by_now(plan: Plan, tmp_path: Path) -> None:
    seed = Seed({**told(1), "plugin_data": {"groundup_disks": [USED]}})
    page = Paper(approval(about=discovery(seed, plan, tmp_path).waiting("found-1").shown))
    seed.told["node-1"] = {**told(1), "plugin_data": {"groundup_disks": [{**USED, "uuid": "1a2b"}]}}
    assert desk(page, discovery(seed, plan, tmp_path), tmp_path).turn() == []
    assert page.answers["0"].startswith("refused: its disks are others by now: serial S1")
    assert "groundup_approved" not in str(seed.nodes)


def test_a_decision_stays_open_while_ironic_starts_again(plan: Plan, tmp_path: Path) -> None:
    seed = Seed({**told(1), "plugin_data": {"groundup_disks": [USED]}})
    page = Paper(approval(about=discovery(seed, plan, tmp_path).waiting("found-1").shown))
    seen = seed.discovered

    def starts() -> list[dict[str, Any]]:
        raise BusyError("the seed's Ironic does not answer", where="", why="", remedy="")

    seed.discovered = starts  # type: ignore[method-assign]
    work = desk(page, discovery(seed, plan, tmp_path), tmp_path)
    assert (work.turn(), page.answers) == ([], {}), "a person decided; nothing refuses that"
    seed.discovered = seen  # type: ignore[method-assign]
    assert work.turn() == ["found-1"]


def test_what_is_not_possible_is_refused_with_the_reason(plan: Plan, tmp_path: Path) -> None:
    Journal(file_of(tmp_path, "worker-1")).note(WayStep(state="serving", verb="done"))
    retiring = Journal(file_of(tmp_path, "found-1"))
    retiring.note(WayStep(state="retiring", verb="wait"))
    retiring.note(WayStep(state="failed", verb="fail", card=CARD))
    given = ("worker-1", "retry"), ("found-1", "retry"), ("found-1", "approve"), ("found-1", "erase")
    page = Paper(*({"machine": machine, "verb": verb} for machine, verb in given))
    work = desk(page, discovery(Seed(), plan, tmp_path), tmp_path)
    assert (work.turn(), work.again) == ([], set())
    assert [page.answers[str(n)] for n in range(4)] == [
        "refused: it is serving",
        "refused: it is being retired",
        "refused: no machine waits to become found-1",
        "refused: nobody knows how to do that",
    ]
    assert page.decisions() == []


@pytest.mark.parametrize(("installed", "state"), [(False, "expected"), (True, "installed")])
def test_a_machine_that_failed_begins_anew_and_counts_anew(
    plan: Plan, tmp_path: Path, installed: bool, state: str
) -> None:
    journal = Journal(file_of(tmp_path, "worker-1"))
    if installed:
        journal.note(WayStep(state="installed", verb="done"))
    journal.note(WayStep(state="failed", verb="fail", card=CARD))
    page = Paper({"machine": "worker-1", "verb": "retry"}, {"machine": "of-another-site", "verb": "retry"})
    work = desk(page, discovery(Seed(), plan, tmp_path), tmp_path)
    assert (work.turn(), work.again) == (["worker-1"], {"worker-1"})
    last = Journal(file_of(tmp_path, "worker-1")).last
    assert (last["state"], last["doing"], last["card"]) == (state, f"tried again by {BY}", None)
    assert [one["machine"] for one in page.decisions()] == ["of-another-site"], "another run's"


def test_who_decided_is_text_of_somebody_else(plan: Plan, tmp_path: Path) -> None:
    Journal(file_of(tmp_path, "worker-1")).note(WayStep(state="failed", verb="fail", card=CARD))
    page = Paper({"machine": "worker-1", "verb": "retry", "by": "me\x1b[2J\nworker-2: serving"})
    desk(page, discovery(Seed(), plan, tmp_path), tmp_path).turn()
    said = Journal(file_of(tmp_path, "worker-1")).doing
    assert said.isprintable(), said
