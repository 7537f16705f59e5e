"""Provision machines in parallel, as the queue admits them, until all ended or enough serve, whoever fails."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from ..errors import GroundupError
from ..layers.aside import Aside
from ..layers.enough import SuccessCriteria, lacking
from .api import BusyError, Watched
from .queue import BUSY, QueueLimits, Waiting, admitted

LAYER = "ironic"
_TELL = 60.0  # seconds between two lines of progress
_HERE = frozenset(("active",))  # installed: Ironic has no work left, so they need not queue
Failed = dict[str, GroundupError]


class LeftError(GroundupError):
    """A machine is pending, without a fault: enough others serve, and the run goes on without it."""


def left_behind(name: str, where: str) -> LeftError:
    """Return the error that leaves ``name``, which is at step ``where``, to the next run."""
    return LeftError(
        f"pending: {where}",
        where=name,
        why="enough of its group serve, so that the run goes on without it",
        remedy="none is needed: the next run goes on with it",
    )


def set_aside(failed: Failed) -> list[Aside]:
    """Return the machines that did not become ready, for the run to go on without them."""
    return [
        Aside(host=name, layer=LAYER, reason=one.what, remedy=one.remedy, pending=isinstance(one, LeftError))
        for name, one in sorted(failed.items())
    ]


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Machines of one run. ``way`` provisions one until it calls home; where it returns true, ``then`` is called."""

    ironic: Watched
    way: Callable[[str], bool]
    then: Callable[[str], None] | None
    limits: QueueLimits
    groups: Mapping[str, str]  # of each machine
    spare: Mapping[str, int]  # of each group: how many may fail
    say: Callable[[str], None]
    pause: float
    enough: Mapping[str, SuccessCriteria] = field(
        default_factory=dict
    )  # by group; the run waits for all machines of others
    absent: Mapping[str, Mapping[str, str]] = field(
        default_factory=dict
    )  # by group, machines that are not in this run, and their racks
    decided: Callable[[], Sequence[str]] = tuple  # machines to retry by decisions since the last call
    left: threading.Event = field(default_factory=threading.Event)  # set when enough serve: threads stop
    failed: Failed = field(default_factory=dict)

    def run(self, machines: Sequence[Waiting]) -> Failed:
        """Provision all machines; return the failed ones. Raises GroundupError when the seed does not answer."""
        known = {machine.name: machine for machine in machines}
        pending = dict(known)
        racks, done = {machine.name: machine.rack for machine in machines}, set[str]()
        ways: dict[Future[bool], Waiting] = {}
        runs: dict[Future[bool], str] = {}
        told = asked = time.monotonic()
        playbook = os.getppid()
        with (
            ThreadPoolExecutor(max_workers=len(machines) or 1) as pool,
            ThreadPoolExecutor(max_workers=self.limits.at_once) as runners,
        ):
            while pending or ways or runs:
                for name in self._next(pending, ways):
                    ways[pool.submit(self._ends, self.way, name)] = pending.pop(name)
                if not ways and not runs:
                    self.left.wait(self.pause)  # every place is another run's, or the seed starts again
                ended, _ = wait([*ways, *runs], timeout=self.pause, return_when=FIRST_COMPLETED)
                for future in ended:
                    machine = ways.pop(future, None)
                    if machine and future.result() and self.then:
                        runs[runners.submit(self._ends, self._follow, machine.name)] = machine.name
                    else:
                        done.add(machine.name if machine else runs.pop(future))
                if time.monotonic() - asked > self.pause and not self.left.is_set():
                    asked = time.monotonic()
                    for name in self.decided():
                        if self.failed.pop(name, None):
                            done.discard(name)
                            pending[name] = known[name]
                self._hold_back(pending)
                # A killed playbook leaves this worker behind, with locks that the next run waits for.
                if self._may_leave(racks, done) or os.getppid() != playbook:
                    self.left.set()
                    self.failed.update({name: left_behind(name, "it waits for its turn") for name in pending})
                    pending.clear()
                if time.monotonic() - told > _TELL and pending:
                    told = time.monotonic()
                    self.say(self._summary(len(machines), pending, len(ways), len(runs)))
        return self.failed

    def _next(self, pending: Mapping[str, Waiting], ways: Mapping[Future[bool], Waiting]) -> list[str]:
        under_way = {machine.name: machine.rack for machine in ways.values()}
        if not pending:
            return []
        try:
            nodes = {str(node["name"] or node["uuid"]): node for node in self.ironic.nodes().values()}
        except BusyError:  # the seed restarts: start no machine meanwhile
            return []
        state = {name: str(node["provision_state"]) for name, node in nodes.items()}
        # Machines under way are only followed, and installed ones need no work of Ironic: neither has to queue.
        at_once = [name for name in pending if state.get(name) in BUSY | _HERE]
        busy = {
            name: str((node.get("extra") or {}).get("rack"))
            for name, node in nodes.items()
            if state[name] in BUSY and name not in pending
        }
        busy |= under_way | {name: pending[name].rack for name in at_once if state[name] in BUSY}
        rest = [machine for name, machine in pending.items() if name not in at_once]
        return at_once + admitted(rest, busy, self.limits)

    def _follow(self, name: str) -> None:
        if self.left.is_set():
            raise left_behind(name, "it called home, and no layer has run on it")
        if self.then:
            self.then(name)

    def _may_leave(self, racks: Mapping[str, str], ended: Set[str]) -> bool:
        """Return whether enough machines of every group serve. In a group without criteria, all must have ended."""
        if not self.enough or self.left.is_set():
            return False
        away = {group: dict(self.absent.get(group, {})) for group in self.enough}
        for name, rack in racks.items():
            group = self.groups[name]
            if (name in self.failed and group in self.enough) or name not in ended | set(self.failed):
                away.setdefault(group, {})[name] = rack
        return all(
            group in self.enough and not lacking(group, self.enough[group], gone) for group, gone in away.items()
        )

    def _ends(self, work: Callable[[str], bool | None], name: str) -> bool:
        try:
            return bool(work(name))
        except GroundupError as error:
            silent = isinstance(error, BusyError) and self.left.is_set()
            self.failed[name] = left_behind(name, "the seed starts again") if silent else error
        except Exception as error:  # noqa: BLE001  # must not stop other machines
            self.failed[name] = GroundupError(
                f"{type(error).__name__}: {error}",
                where=name,
                why="this is a fault of groundup.cloud",
                remedy="report it, with the machine's journal; the other machines are not concerned",
            )
        return False

    def _hold_back(self, pending: dict[str, Waiting]) -> None:
        """Start no more machines of a group with too many failures: they would probably fail, too."""
        counts = Counter(self.groups[name] for name in self.failed)
        for group in [group for group, count in counts.items() if count > self.spare.get(group, 0)]:
            for name in [name for name in pending if self.groups[name] == group]:
                del pending[name]
                self.failed[name] = GroundupError(
                    "it was not begun",
                    where=name,
                    why=f"{counts[group]} of {group} failed, at most {self.spare.get(group, 0)} may",
                    remedy="mend those that failed, then run this again",
                )

    def _summary(self, total: int, pending: Mapping[str, Waiting], ways: int, runs: int) -> str:
        racks = ", ".join(f"{rack} {count}" for rack, count in Counter(one.rack for one in pending.values()).items())
        ended = total - len(pending) - ways - runs - len(self.failed)
        words = f"{ended} done, {ways} under way, {runs} being configured, {len(self.failed)} failed"
        return f"{words}, {len(pending)} wait (by rack: {racks})"
