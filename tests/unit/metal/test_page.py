"""The page of machines: what is kept of an overview, who is logged in, and when the controller sends."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import page as module
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal, file_of, home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.page import tell
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import WayStep
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan

PROGRAM = COLLECTION / "roles/ironic/files/machines/machines_state.py"


@pytest.fixture
def program() -> Any:
    found = ModuleType("machines_state")
    exec(compile(PROGRAM.read_text(), PROGRAM, "exec"), found.__dict__)  # noqa: S102  # a program of ours
    return found


def test_an_overview_outlives_a_restart_and_watchers_see_it_once(program: Any, tmp_path: Path) -> None:
    path = tmp_path / "overview.json"
    overview = program.Overview(path)
    number, found = overview.after(-1, wait=0)
    assert found["machines"] == []
    assert overview.after(number, wait=0) == (number, None)
    overview.take({"site": "lab", "time": 1.0, "machines": [{"machine": "worker-1", "state": "serving", "else": 1}]})
    number, found = program.Overview(path).after(-1, wait=0)
    assert found["machines"][0]["machine"] == "worker-1"
    assert "else" not in found["machines"][0]
    assert found["age"] >= 0


@pytest.mark.parametrize("given", [None, [], {}, {"machines": "x"}, {"machines": {"worker-1": {}}}])
def test_what_is_no_overview_is_refused_and_nothing_is_lost(program: Any, tmp_path: Path, given: Any) -> None:
    overview = program.Overview(tmp_path / "overview.json")
    overview.take({"site": "lab", "time": 1.0, "machines": [{"machine": "worker-1"}]})
    with pytest.raises(ValueError, match="machines"):
        overview.take(given)
    assert overview.after(-1, wait=0)[1]["machines"][0]["machine"] == "worker-1"


def test_a_text_without_end_is_cut(program: Any, tmp_path: Path) -> None:
    overview = program.Overview(tmp_path / "overview.json")
    card = {"what": "x" * 100_000, "deep": {"a": ["b"] * 10_000}}
    overview.take({"machines": [{"machine": "y" * 100_000, "card": card, "doing": [["z"]]}]})
    (found,) = overview.after(-1, wait=0)[1]["machines"]
    assert len(json.dumps(found)) < 10_000
    assert found["doing"] is None


def test_what_is_decided_is_what_the_browser_showed(program: Any, tmp_path: Path) -> None:
    overview = program.Overview(tmp_path / "overview.json")
    row = {"machine": "worker-1", "may": {"approve": "", "retry": "it waits"}, "asks": "node-1/disks"}
    overview.take({"machines": [row]})
    assert overview.may("worker-1", "approve", shown="node-1/disks") == ("", "node-1/disks")
    assert overview.may("worker-1", "retry", shown="")[0] == "it waits"
    for shown in ("node-1/others", "node-2/disks", ""):
        assert "another than this page showed" in overview.may("worker-1", "approve", shown=shown)[0]


def test_a_session_ends_by_itself_and_old_ones_make_room(program: Any) -> None:
    now = [0.0]
    sessions = program.Sessions(lambda: now[0])
    first = sessions.begin()
    assert sessions.token(first)
    assert sessions.token("") == sessions.token("forged") == ""
    others = [sessions.begin() for _ in range(program.SESSIONS)]
    assert sessions.token(first) == ""
    now[0] = program.LASTS + 1
    assert not any(map(sessions.token, others))


def test_a_guesser_waits_and_nobody_else_does(program: Any) -> None:
    now = [0.0]
    sessions = program.Sessions(lambda: now[0])
    for _ in range(program.TRIES):
        assert sessions.allowed("10.0.0.1")
        sessions.wrong("10.0.0.1")
    assert not sessions.allowed("10.0.0.1")
    assert sessions.allowed("10.0.0.2")
    now[0] = program.WITHIN + 1
    assert sessions.allowed("10.0.0.1")


class Taken:
    """A page that keeps what it is sent; each time, ``then`` goes on."""

    def __init__(self, *answers: str, then: Callable[[int], None]) -> None:
        self.sent: list[dict[str, Any]] = []
        self._answers, self._then = list(answers), then

    def send(self, overview: dict[str, Any]) -> str:
        self.sent.append(overview)
        self._then(len(self.sent))
        return self._answers.pop(0) if self._answers else ""


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    monkeypatch.setattr(module, "PAUSE", 0.001)
    return make_plan(load_site(COLLECTION / "inventories/lab-metal/site.yml"))


def test_the_page_is_told_each_change_and_how_it_ended(plan: Plan) -> None:
    ended = threading.Event()
    journal = Journal(file_of(home_of(plan.site), "worker-1"))

    def go_on(count: int) -> None:
        if count == 1:
            journal.note(WayStep(state="provisioning", verb="wait", doing="its ramdisk boots"))
        else:
            journal.note(WayStep(state="installed", verb="done", doing="it called home"))
            ended.set()

    page = Taken(then=go_on)
    tell(page, plan, pytest.fail, ended)  # type: ignore[arg-type]  # what is asked of a page
    states = [{one["machine"]: one["state"] for one in overview["machines"]}["worker-1"] for overview in page.sent]
    assert states == ["expected", "provisioning", "installed"]


def test_a_page_that_does_not_answer_is_said_once_and_tried_again(plan: Plan) -> None:
    ended, said = threading.Event(), list[str]()
    page = Taken("refused", "refused", then=lambda count: ended.set() if count == 3 else None)
    tell(page, plan, said.append, ended)  # type: ignore[arg-type]  # what is asked of a page
    assert said == ["the seed's page of machines does not show this run: refused"]
    assert len(page.sent) == 3, "until it was taken"
