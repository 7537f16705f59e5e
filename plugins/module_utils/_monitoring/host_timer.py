"""Install the program that tells what runs on a host (`host_metrics`), and the timer that starts it."""

from __future__ import annotations

from .._base import files
from .._base.changes import Changes
from .._host import watched
from . import timed
from .host_metrics import program

EVERY = 10  # seconds
_WHAT = "Metrics of what runs on this host"
TIMER = timed.timer(what=_WHAT, every=EVERY, accuracy="100ms")


def service(namespace: str) -> str:
    """Return the unit that asks the host, and its pods of ``namespace``; "": none."""
    command = f"{watched.HOST_PROGRAM} {watched.HOST_TOLD} {namespace}".rstrip()
    return timed.oneshot(command, what=_WHAT, timeout=60, memory="128M", writes=timed.in_memory(watched.HOST_TOLD))


def converge(changes: Changes, *, namespace: str) -> None:
    """Install program and timer. Raises GroundupError, OSError."""
    units = {watched.HOST_SERVICE: service(namespace), watched.HOST_TIMER: TIMER}
    timed.install(changes, watched.HOST_PROGRAM, program, units=units).running()
    files.link(changes, watched.HOST_METRICS, str(watched.HOST_TOLD))
