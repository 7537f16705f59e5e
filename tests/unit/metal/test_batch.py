"""Many ways at once: what another run or a killed one left under way counts, and is followed without waiting."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.enough import SuccessCriteria
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import batch as module
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.api import BusyError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.batch import Batch, left_behind, set_aside
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.queue import QueueLimits, Waiting


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
        self._enough.wait(timeout=120)
        with self._lock:
            self._now -= 1
        return True


def batch(seed: Seed, ways: Any, *, at_once: int, said: list[str] | None = None) -> Batch:
    given: Any = seed
    say = (said if said is not None else []).append
    return Batch(
        ironic=given, way=ways.way, then=None, limits=QueueLimits(at_once=at_once), groups={}, spare={}, say=say,
        pause=0.01,
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


class Slow:
    """Ways that end at once; those of ``slow`` when enough others serve, that of ``second`` once another does."""

    def __init__(self, *slow: str, failing: str = "", second: str = "") -> None:
        self.slow, self.failing, self.second, self.configured = slow, failing, second, list[str]()
        self.left, self._one = threading.Event(), threading.Event()

    def then(self, name: str) -> None:
        self.configured.append(name)
        self._one.set()

    def way(self, name: str) -> bool:
        if name == self.failing:
            raise GroundupError("no power", where=name, why="", remedy="")
        if name in self.slow:
            assert self.left.wait(120), "enough serve, and it is still waited for"
            raise left_behind(name, "provisioning, its ramdisk boots")
        return name != self.second or self._one.wait(120)


def run_enough(
    ways: Slow, enough: SuccessCriteria, *, at_once: int = 3, others: tuple[str, ...] = (), bare: bool = False
) -> dict[str, str]:
    given: Any = Seed()
    names = ("m-1", "m-2", "m-3")
    found = Batch(
        ironic=given, way=ways.way, then=None if bare else ways.then, limits=QueueLimits(at_once=at_once),
        groups=dict.fromkeys(names, "worker") | dict.fromkeys(others, "other"), spare={"worker": 3, "other": 3},
        say=print, pause=0.01, enough={"worker": enough}, left=ways.left,
    ).run(machines(*names, *others))  # fmt: skip
    return {name: f"{type(error).__name__}: {error.what}" for name, error in found.items()}


ONE = SuccessCriteria(size=3, machines=1, racks={}, critical=())
PENDING = "LeftError: pending: provisioning, its ramdisk boots"


def test_a_run_goes_on_once_enough_serve_and_names_the_others_with_where_they_are() -> None:
    ways = Slow("m-2", "m-3")
    assert run_enough(ways, ONE) == {"m-2": PENDING, "m-3": PENDING}
    assert ways.configured == ["m-1"], "it serves"


def test_who_waits_for_its_turn_is_named_too() -> None:
    assert run_enough(Slow(), ONE, at_once=1, bare=True) == {
        "m-2": "LeftError: pending: it waits for its turn", "m-3": "LeftError: pending: it waits for its turn",
    }  # fmt: skip


def worker() -> None:
    """Stand in for the worker of a playbook: none of its machines ends by itself."""

    class Tells(Slow):
        def way(self, name: str) -> bool:
            os.write(sys.stdout.fileno(), b"begun\n")  # whole, whoever else writes
            return super().way(name)

    found = run_enough(Tells("m-1", "m-2", "m-3"), SuccessCriteria(size=3, machines=3, racks={}, critical=()))
    print(json.dumps(found), flush=True)


def test_a_run_whose_playbook_was_killed_ends_where_its_machines_are() -> None:
    program = f"import os, time\nfrom {__name__} import worker\nos.fork() and time.sleep(600)\nworker()"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as playbook:
        assert playbook.stdout
        for _machine in range(3):
            assert playbook.stdout.readline() == "begun\n"
        playbook.kill()
        said = playbook.stdout.read().splitlines()
    assert json.loads(said[-1]) == dict.fromkeys(("m-1", "m-2", "m-3"), PENDING)


def test_a_critical_machine_is_waited_for() -> None:
    both = SuccessCriteria(size=3, machines=1, racks={"r1": (3, 1)}, critical=("m-1",))
    ways = Slow("m-3", second="m-1")
    assert run_enough(ways, both) == {"m-3": PENDING}
    assert ways.configured == ["m-2", "m-1"]


def test_one_that_fails_does_not_serve_and_a_group_without_criteria_is_waited_for() -> None:
    two = SuccessCriteria(size=3, machines=2, racks={}, critical=())
    assert run_enough(Slow("m-3", failing="m-9"), two, others=("m-9",), at_once=4) == {
        "m-3": PENDING, "m-9": "GroundupError: no power",
    }  # fmt: skip
    ways = Slow(failing="m-1")
    assert run_enough(ways, replace(two, machines=3)) == {"m-1": "GroundupError: no power"}, "nobody is left"


def test_machines_that_are_not_in_the_run_do_not_serve() -> None:
    given: Any = Seed()
    ways = Slow()
    found = Batch(
        ironic=given, way=ways.way, then=None, limits=QueueLimits(at_once=1), groups={"m-1": "worker", "m-2": "worker"},
        spare={}, say=print, pause=0.01, enough={"worker": replace(ONE, machines=2)}, absent={"worker": {"m-3": "r1"}},
    ).run(machines("m-1", "m-2"))  # fmt: skip
    assert found == {}, "both were waited for"


def test_a_machine_that_somebody_has_begin_anew_does_while_others_are_on_their_way() -> None:
    given: Any = Seed()
    mended, begun, decided = threading.Event(), list[str](), [["m-1", "m-2", "m-9"]]

    def way(name: str) -> bool:
        begun.append(name)
        if name == "m-1" and begun.count("m-1") == 1:
            raise GroundupError("no power", where=name, why="", remedy="")
        if name == "m-1":
            mended.set()
        return mended.wait(30)

    def turn() -> list[str]:
        return decided.pop() if decided and begun.count("m-1") and batch_.failed else []

    batch_ = Batch(
        ironic=given, way=way, then=None, limits=QueueLimits(at_once=2), groups=dict.fromkeys(("m-1", "m-2"), "worker"),
        spare={"worker": 1}, say=print, pause=0.01, decided=turn,
    )  # fmt: skip
    assert batch_.run(machines("m-1", "m-2")) == {}
    assert (begun.count("m-1"), begun.count("m-2")) == (2, 1), "one that is on its way goes on"


def test_while_another_run_has_all_places_ironic_is_asked_once_a_pause() -> None:
    class Taken(Seed):
        asked: ClassVar[list[float]] = []

        def nodes(self) -> dict[str, Any]:
            self.asked.append(time.monotonic())
            if len(self.asked) == 4:
                self.states.pop("another")
            return super().nodes()

    seed, ways = Taken(another="deploying", worker_1="available"), Ways()
    work = replace(batch(seed, ways, at_once=1), pause=0.2)
    assert work.run([Waiting(name="worker-1", rack="r1", critical=False)]) == {}
    assert ways.begun == ["worker-1"]
    assert min(after - before for before, after in pairwise(seed.asked[:4])) >= 0.2


def test_who_did_not_become_ready_is_set_aside_and_marked_if_nothing_is_wrong_with_it() -> None:
    fault = GroundupError("no power", where="worker-2", why="it is off", remedy="plug it in")
    aside = set_aside({"worker-2": fault, "worker-1": left_behind("worker-1", "its ramdisk boots")})
    assert [(one.host, one.layer, one.remedy, one.pending) for one in aside] == [
        ("worker-1", "ironic", "none is needed: the next run goes on with it", True),
        ("worker-2", "ironic", "plug it in", False),
    ]
