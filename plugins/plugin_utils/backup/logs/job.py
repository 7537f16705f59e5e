"""The binary logs of a site: copied until the run ends, and judged."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ....module_utils._base.locks import locked
from ...errors import GroundupError
from ...kube.access import kubeconfig_path
from ...kube.client import Api
from ...kube.piped import Container
from ...paths import state_dir
from ...plan.types import Plan
from ...vault import Store, open_store
from ..sets import mariadb
from ..sets.disk import SetBackup
from ..sets.parts import MARIADB
from ..shelf import AHEAD
from . import replay
from .disk import LogShelf
from .ship import Shipper

PLAYBOOK = "groundup.cloud.backup_logs"
_WAIT = 5.0  # seconds for a lock: a run that ends gives it back
_TO_FOLLOW = timedelta(hours=1)
_LATE = 60.0  # seconds beside twice the interval: a member that restarts is no fault


def ship(plan: Plan, home: Path, *, seconds: float, say: Callable[[str], object]) -> None:
    """Copy what members log into ``home``, the directory of the sets, until ``seconds`` are over, if any."""
    if not plan.backups.logs_every or MARIADB not in {one.name for one in plan.openstack.releases}:
        raise GroundupError(
            "the site file asks for no binary logs", where="backups.logs_every of the site file",
            why="it says how often they are copied", remedy="write it, on a site with MariaDB",
        )  # fmt: skip

    def choose(prefer: str) -> tuple[str, Container]:
        found = mariadb.choose(Api(kubeconfig_path(plan.site)), plan.openstack.namespace, prefer=prefer)
        return found.pod, found

    shelf, end = LogShelf(home), time.monotonic() + seconds
    with ExitStack() as held:
        for lock in (state_dir(plan.site) / ".logs.lock", shelf.home / ".lock"):  # another controller has its own state
            try:
                held.enter_context(locked(lock, timeout=_WAIT))
            except TimeoutError as error:
                raise GroundupError(
                    "binary logs of this site are copied already", where=str(lock),
                    why="two would write the same pieces",
                    remedy="leave it to the other; systemctl status groundup-logs-* shows the unit",
                ) from error  # fmt: skip
        Shipper(
            shelf, site=plan.site, store=open_store(plan.site, write=False), say=say, choose=choose,
            every=plan.backups.logs_every,
        ).ship(until=lambda: seconds > 0 and time.monotonic() >= end)  # fmt: skip


def late(plan: Plan, home: Path, *, now: datetime | None = None) -> tuple[str, float | None]:
    """Return what is wrong with the age of the last copy ("": nothing), and the age. Raises GroundupError."""
    stream = LogShelf(home).newest()
    last = stream.last() if stream else {}
    if not last:
        return "no binary log was copied yet", None
    age = ((now or datetime.now(UTC)) - datetime.fromisoformat(last["time"])).total_seconds()
    if age < -AHEAD.total_seconds():
        return "the binary logs were copied at a time that has not come: a clock was ahead, or is behind", age
    return ("" if age <= 2 * plan.backups.logs_every + _LATE else "the copy of the binary logs is late"), age


def begins(home: Path) -> bool:
    """Return whether the newest stream began so late that a set may still be taken. Raises GroundupError."""
    stream = LogShelf(home).newest()
    return stream is not None and datetime.now(UTC) - datetime.fromisoformat(stream.about.began) < _TO_FOLLOW


def lacking(home: Path, backup: SetBackup, *, store: Store | None = None) -> str:
    """Return why no logs follow a set, "" when they do. Raises GroundupError when they are damaged.

    With ``store`` they are read, not only listed.
    """
    try:
        found = replay.find(LogShelf(home), backup.parts[MARIADB], until="", store=store, expected=True)
    except replay.GapError as error:
        return error.what
    return "" if found else "no binary log was copied yet"
