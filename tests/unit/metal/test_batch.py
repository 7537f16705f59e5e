"""Many ways at once: what another run or a killed one left under way counts, and is followed without waiting."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import batch as module
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.api import BusyError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.batch import Batch
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.queue import Limits, Waiting


class Seed:
    """Ironic's listing; silent while ``silent`` is above 0."""

    def __init__(self, **states: str) -> None:
        self.states, self.silent = {name.replace("_", "-"): state for name, state in states.items()}, 0

    def nodes(self) -> dict[str, Any]:
        if self.silent:
            self.silent -= 1
            raise BusyError("starts again", where="", why="", remedy="")
        return {
            name: {"name": name, "provision_state": state, "extra": {"rack": "r1"}}
            for name, state in self.states.items()
        }


class Ways:
    """Ways that end when told to, and who is on one."""

    def __init__(self, *, wait_for: int = 1) -> None:
        self.begun, self.most, self._now = list[str](), 0, 0
        self._lock, self._enough = threading.Lock(), threading.Barrier(wait_for)

    def way(self, name: str) -> bool:
        with self._lock:
            self.begun.append(name)
            self._now += 1
            self.most = max(self.most, self._now)
        self._enough.wait(timeout=30)
        with self._lock:
            self._now -= 1
        return True


def batch(seed: Seed, ways: Any, *, at_once: int, said: list[str] | None = None) -> Batch:
    given: Any = seed
    say = (said if said is not None else []).append
    return Batch(
        ironic=given, way=ways.way, then=None, limits=Limits(at_once=at_once), groups={}, spare={}, say=say, pause=0.01,
    )  # fmt: skip


def machines(*names: str) -> list[Waiting]:
    return [Waiting(name=name, rack="r1") for name in names]


def test_never_more_are_on_their_way_than_may_be() -> None:
    ways = Ways(wait_for=2)
    assert batch(Seed(), ways, at_once=2).run(machines(*(f"m-{number}" for number in range(10)))) == {}
    assert (ways.most, len(ways.begun)) == (2, 10)


def test_what_a_killed_run_left_under_way_is_followed_at_once_beyond_the_limit() -> None:
    seed, ways = Seed(m_1="wait call-back", m_2="deploying", m_3="active"), Ways(wait_for=3)
    assert batch(seed, ways, at_once=1).run(machines("m-1", "m-2", "m-3")) == {}
    assert ways.most == 3


def test_nobody_begins_while_another_run_has_all_places() -> None:
    seed, ways = Seed(other="deploying"), Ways()

    def ends(line: Any = seed.nodes) -> dict[str, Any]:
        found: dict[str, Any] = line()
        assert not ways.begun, "the place is taken"
        seed.states = {}
        seed.nodes = line  # type: ignore[method-assign]
        return found

    seed.nodes = ends  # type: ignore[method-assign]
    assert batch(seed, ways, at_once=1).run(machines("m-1")) == {}
    assert ways.begun == ["m-1"]


def test_a_seed_that_starts_again_is_waited_for() -> None:
    seed, ways = Seed(), Ways()
    seed.silent = 3
    assert batch(seed, ways, at_once=1).run(machines("m-1")) == {}


def test_a_line_says_who_waits_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TELL", -1.0)
    said: list[str] = []

    class Failing:
        def way(self, name: str) -> bool:
            raise GroundupError("no power", where=name, why="", remedy="")

    given = machines("m-1", "m-2")
    failed = batch(Seed(), Failing(), at_once=1, said=said)
    object.__setattr__(failed, "groups", {"m-1": "worker", "m-2": "worker"})
    object.__setattr__(failed, "spare", {"worker": 2})
    assert set(failed.run(given)) == {"m-1", "m-2"}
    assert "0 done, 0 under way, 0 being configured, 1 failed, 1 wait (by rack: r1 1)" in said
