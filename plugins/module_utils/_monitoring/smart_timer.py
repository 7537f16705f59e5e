"""Install the program that tells what drives say of themselves (`host_metrics.smart`), and the timer that starts it."""

from __future__ import annotations

from .._base import files
from .._base.changes import Changes
from .._host import watched
from .._host.units import off
from . import timed
from .host_metrics import smart

PACKAGE, DAEMON = "smartmontools", "smartmontools.service"
EVERY = 1800  # seconds: a drive wears slowly
LATE = 3 * EVERY
_WHAT = "Metrics of this host's drives"
TIMER = timed.timer(what=_WHAT, every=EVERY)
# SATA and SAS, NVMe, and the device of a RAID controller that smartctl makes.
_MORE = "CapabilityBoundingSet=CAP_SYS_RAWIO CAP_SYS_ADMIN CAP_MKNOD\nPrivateNetwork=yes\n"


def service() -> str:
    """Return the unit that asks the drives."""
    command = f"{watched.SMART.program} {watched.SMART_TOLD}"
    writes = timed.in_memory(watched.SMART_TOLD)
    return timed.oneshot(command, what=_WHAT, timeout=EVERY - 60, memory="128M", writes=writes, more=_MORE)


def converge(changes: Changes, *, fresh: bool) -> None:
    """Install program and timer. Raises GroundupError, OSError.

    ``fresh``: this run installed the package, whose daemon nobody asked for.
    """
    off(changes, [DAEMON] if fresh else [])
    units = dict(zip(watched.SMART.units, (service(), TIMER), strict=True))
    timed.install(changes, watched.SMART.program, smart, units=units).running()
    files.link(changes, watched.SMART.metrics, str(watched.SMART_TOLD))
