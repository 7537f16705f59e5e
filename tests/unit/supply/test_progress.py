"""Progress of a build: lines for a log, a block on a terminal, and how long it will still take."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action import supply as action
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.progress import SILENCE
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.store import ArtifactStore
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make import progress as module
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.progress import BuildProgress

from .conftest import FakeBuilder

MakeLock = Callable[..., Lock]


class Build:
    """Three artifacts, ``image`` made from ``kubernetes``, on two cores, by a clock that a test moves."""

    def __init__(self, *, terminal: bool = False) -> None:
        self.time = 0.0
        self.lines: list[str] = []
        self.drawn: list[str] = []
        self.progress = BuildProgress(
            self.lines.append,
            {"kubernetes": [], "pause": [], "image": ["kubernetes"]},
            expected={"kubernetes": 600.0, "pause": 10.0, "image": 30.0},
            jobs=2,
            draw=self.drawn.append if terminal else None,
            now=lambda: self.time,
        )  # fmt: skip

    def passes(self, seconds: int) -> None:
        """Let time pass, as a scheduler does that ticks each second."""
        for _ in range(seconds):
            self.time += 1
            self.progress.tick()


def test_a_silent_step_is_a_line_at_least_every_30_seconds_with_its_time_and_the_expected_one() -> None:
    build = Build()
    build.progress.begin("kubernetes", "waiting for another run")
    build.progress.step("kubernetes", "compiling")
    times: list[float] = []
    for _ in range(210):
        before = len(build.lines)
        build.passes(1)
        times += [build.time] * (len(build.lines) - before)
    assert max(later - earlier for earlier, later in zip([0.0, *times], [*times, build.time], strict=True)) <= 30
    assert build.lines[0] == "[supply 0/3 00:00] kubernetes: compiling"
    assert build.lines[1] == "[supply 0/3 00:25] kubernetes: compiling, 00:25 of about 10:00; about 10:05 left"
    assert build.lines[-1].startswith("[supply 0/3 03:20] kubernetes: compiling, 03:20 of about 10:00")


def test_what_remains_is_the_longest_chain_or_all_work_on_all_cores() -> None:
    build = Build()
    assert build.progress._remaining() == "about 10:30 left"
    build.progress.begin("kubernetes", "compiling")
    build.passes(700)  # longer than expected: no less than nothing is left of it
    assert build.progress._remaining() == "about 00:30 left"
    build.progress.end("kubernetes", "done")
    build.progress.begin("pause", "compiling")
    build.passes(3)
    build.progress.end("pause", "done")
    build.progress.begin("image", "packing")
    build.passes(20)
    assert build.progress._remaining() == "about 00:10 left"
    build.passes(10)
    assert build.progress._remaining() == "longer than expected"


def test_a_wait_for_another_run_is_shown_when_it_lasts() -> None:
    build = Build()
    build.progress.begin("pause", "waiting for another run")
    assert build.lines == []
    build.passes(int(SILENCE))
    assert "pause: waiting for another run, 00:25 of about 00:10" in build.lines[0]


def test_on_a_terminal_each_running_artifact_is_one_line_redrawn_in_place_and_ends_are_lines_that_stay() -> None:
    build = Build(terminal=True)
    for name in ("kubernetes", "pause"):
        build.progress.begin(name, "waiting")
        build.progress.step(name, "compiling")
    build.passes(1)
    *_, erased, block = build.drawn
    assert erased == "\x1b[3A\x1b[J", "the three lines that were drawn before"
    assert block.splitlines() == [
        "[supply 0/3 00:01] about 10:29 left",
        "  kubernetes: compiling, 00:01 of about 10:00",
        "  pause: compiling, 00:01 of about 00:10",
    ]
    assert build.lines == [], "steps are drawn only"
    build.progress.end("pause", "done in 00:01, 1 CPU-s")
    assert build.lines == ["[supply 1/3 00:01] pause: done in 00:01, 1 CPU-s"]
    assert len(build.drawn[-1].splitlines()) == 2
    build.progress.close()
    assert build.drawn[-1] == "\x1b[2A\x1b[J"


def test_a_terminal_of_few_columns_and_lines_is_not_overrun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TERMINAL", os.terminal_size((20, 3)))
    build = Build(terminal=True)
    for name in ("kubernetes", "pause", "image"):
        build.progress.begin(name, "waiting")
    build.progress.tick()
    assert [len(line) <= 19 for line in build.drawn[-1].splitlines()] == [True, True]


def test_a_build_that_says_nothing_is_shown_with_the_time_its_last_build_took(
    fake: FakeBuilder, make_lock: MakeLock, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    del fake
    monkeypatch.setattr(module, "SILENCE", 1.0)
    monkeypatch.setattr(ArtifactStore, "last_cost", lambda _, name: (1.0, 90.0) if name == "a" else None)
    supply.ensure(None, progress=lines.append, lock=make_lock(a={"inputs": {"seconds": 2.5}}, b={"cost": 45}), jobs=2)
    assert any(line.endswith("a: 1, begins, 00:01 of about 01:30; about 01:28 left") for line in lines), lines


@pytest.mark.parametrize("terminal", [None, (80, 24)])
def test_the_module_draws_on_a_terminal_only_and_past_the_log(
    terminal: tuple[int, int] | None, fake: FakeBuilder, make_lock: MakeLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    del fake
    shown: list[tuple[str, dict[str, Any]]] = []
    lock = make_lock(a={})
    monkeypatch.setattr(supply, "load_lock", lambda _site=None: lock)
    monkeypatch.setattr(action, "TERMINAL", terminal)
    made = object.__new__(action.ActionModule)
    made.variables = {}
    made._task = type("Task", (), {"check_mode": False})
    made._display = type("Display", (), {"display": lambda _, line, **how: shown.append((line, how))})()
    made.work({"step": "build", "names": None, "source": "build", "rebuild": False})
    drawn = [how for line, how in shown if "left" in line]
    assert all(how == {"screen_only": True, "newline": False} for how in drawn)
    assert bool(drawn) == bool(terminal)
    assert any("a: done in" in line and not how for line, how in shown)
