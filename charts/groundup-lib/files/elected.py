#!/usr/bin/env python3
"""Run a service in one of several pods at a time: in the one that holds a Lease. Usage: elected.py COMMAND...

Two threads. One asks: it takes the Lease and renews it. The other guards, and waits for nobody: it starts the service
as a child, and kills it before the Lease can be another's, however long the API does not answer. Every time is taken
before a request is sent, so that others count from later. What this cannot see is a machine on which the guard does not
run and the service does; when both were stopped, the guard kills the service as soon as they go on.

NAMESPACE, LEASE and POD_NAME say which Lease, and who asks; GRACE how many seconds the service has to end when the pod
is told to. It is the first process of its container, so that every process the service leaves becomes its child.
Standard library only: libraries of a service would cost each waiting copy its memory.
"""

from __future__ import annotations

import ctypes
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lease import Lease, uptime
from shared_object import Api, SharedObject

RENEW, LOOK, RETRY = 3.0, 2.0, 0.25  # seconds between renewals, looks of a waiting copy, tries when the API is away
PATIENCE = 1.5  # seconds for one request: a renewal has three tries before the service is told to end
TELL, KILL = 3.0, 2.0  # seconds before the end of the Lease at which the service is told to end, and killed
PAUSE, BEAT = 0.1, 2.0  # seconds between looks of the guard, and between its signs of life
HUNG = 15.0  # seconds without a question after which there is no sign of life any more
ALIVE, RUNNING = Path("/tmp/elected-alive"), Path("/tmp/elected-running")  # noqa: S108  # for elected-probe.sh, the pod's own
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


class Process(Protocol):
    """What the guard needs of the service's process; Service below is the real one."""

    status: int

    def start(self) -> None:
        """Start it."""

    def runs(self) -> bool:
        """Return whether it, or anything that it started, is left."""

    def tell(self) -> None:
        """Tell it to end."""

    def kill(self) -> None:
        """Kill it and what it started."""


@dataclass(frozen=True)
class Hold:
    """Until when the Lease is ours, and in which term: there is a new one whenever it had ended in between."""

    ends: float = -math.inf
    term: int = 0


class Elector:
    """Decides, from the Lease and the clock, whether the service runs here."""

    def __init__(self, lease: Lease, service: Process, *, grace: float, clock: Callable[[], float] = uptime) -> None:
        self._lease, self._service, self._grace, self._clock = lease, service, grace, clock
        self._hold = Hold()
        self._term: int | None = None  # in which the service was started; None: it was not
        self._kill_at: float | None = None  # the service was told to end
        self._said = ""
        self.asked = clock()  # when the Lease was last asked for
        self.leaving = False  # the pod is told to end

    @property
    def running(self) -> bool:
        """Whether the service was started here."""
        return self._term is not None

    def ask(self) -> float:
        """Take or renew the Lease, once. Return the seconds until the next time."""
        begun = self.asked = self._clock()
        try:
            ends = self._lease.take()
        except (OSError, ValueError, KeyError) as error:
            self._say(f"the Kubernetes API says {error}")
            return RETRY
        if ends is not None:
            now = self._clock()
            self._hold = Hold(ends, self._hold.term + (now >= self._hold.ends))
            self._say("holds the Lease")
            return max(RETRY, RENEW - (now - begun))
        if self._lease.holder == self._lease.own:
            return RETRY  # somebody changed the object: nobody else holds it
        self._hold = Hold(term=self._hold.term)
        self._say(f"waits: {self._lease.holder or 'another'} holds the Lease")
        return LOOK

    def guard(self) -> int | None:
        """Look after the service, once. Return the status to exit with, None to go on."""
        now, hold = self._clock(), self._hold
        if self._service.runs():
            overdue = self._kill_at is not None and now >= self._kill_at
            if overdue or hold.term != self._term or now >= hold.ends - KILL:
                self._kill_at = now if self._kill_at is None else self._kill_at
                self._service.kill()
            elif self._kill_at is None and (self.leaving or now >= hold.ends - TELL):
                self._kill_at = now + (self._grace if self.leaving else TELL - KILL)
                self._service.tell()
            return None
        if self._term is not None:
            alone, self._term, self._kill_at = self._kill_at is None, None, None
            if alone:
                print(f"the service ended by itself, status {self._service.status}", flush=True)
                return self._service.status
            print("the service is ended", flush=True)
        if self.leaving:
            return 0
        if now < hold.ends - TELL:
            self._term, self._kill_at = hold.term, None
            self._service.start()
        return None

    def _say(self, word: str) -> None:
        if word != self._said:
            print(f"{self._lease.own} {word}", flush=True)
            self._said = word


class Service:
    """The service's process, and whatever it starts."""

    def __init__(self, command: list[str]) -> None:
        self._command, self._pid = command, 0
        self.status = 0

    def start(self) -> None:
        """Start it. Raises OSError."""
        ours = {signal.SIGTERM, signal.SIGINT}
        self._pid = os.posix_spawnp(self._command[0], self._command, os.environ, setpgroup=0, setsigdef=ours)

    def runs(self) -> bool:
        """Return whether it, or anything that it started, is left. What outlives it is killed."""
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self._pid:
                    code = os.waitstatus_to_exitcode(ended[1])
                    self._pid, self.status = 0, code if code >= 0 else 128 - code
        except ChildProcessError:
            return False
        if not self._pid:
            self.kill()
        return True

    def tell(self) -> None:
        """Tell it to end; it tells its own children."""
        if self._pid:
            os.kill(self._pid, signal.SIGTERM)

    def kill(self) -> None:
        """Kill it, its group and its orphans, which are our children; those of another group become so, one by one."""
        if self._pid:
            with suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGKILL)
        for children in Path("/proc/self/task").glob("*/children"):
            with suppress(OSError):
                for pid in children.read_text().split():
                    os.kill(int(pid), signal.SIGKILL)


def main() -> None:
    """Ask and guard until the service ends or the pod is told to; then give the Lease up."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    for mark in (ALIVE, RUNNING):
        mark.unlink(missing_ok=True)  # of a container before this one
    env = os.environ
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{env['NAMESPACE']}/leases"
    shared = SharedObject(Api(patience=PATIENCE, keep=True), collection=leases, name=env["LEASE"])
    lease = Lease(shared, own=env["POD_NAME"])
    elector = Elector(lease, Service(sys.argv[1:]), grace=float(env["GRACE"]))

    def leave(*_: object) -> None:
        elector.leaving = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, leave)
    stopped = threading.Event()

    def ask() -> None:
        while not stopped.wait(elector.ask()):
            pass

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    try:
        sys.exit(watch(elector))
    finally:
        stopped.set()
        asking.join(2 * PATIENCE)
        with suppress(OSError, ValueError):  # nobody waits for longer than the Lease lasts
            lease.release()


def watch(elector: Elector) -> int:
    """Guard, and leave word for the probes; return the status to exit with."""
    status, beat = None, -math.inf
    while status is None:
        now = uptime()
        if now >= beat + BEAT and now < elector.asked + HUNG:
            ALIVE.touch()
            beat = now
        status = elector.guard()
        if elector.running != RUNNING.exists():
            RUNNING.touch() if elector.running else RUNNING.unlink()
        time.sleep(PAUSE)
    return status


if __name__ == "__main__":
    main()
