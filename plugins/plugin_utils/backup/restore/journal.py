"""Which restore of a site is under way: what no host can say. How far it is, is read from hosts and volumes."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from ....module_utils._base.files import write_file
from ...errors import GroundupError
from ...kube import run_lease
from ...lifetime import identity
from ...paths import state_dir
from ...record import read_record

FILE = "restore.json"
RUN_GONE = "run-gone"  # consent: who began it works at it no more
NO_SET = "a set of now would be half of then, and good ones would be removed for it"
HALF = "services would write to databases that the restore replaces, or start on half of them"
_STAMP = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """A restore that has begun. ``name``, its time, is in the names of what it sets aside."""

    name: str
    set: str
    sha256: str  # of the set
    parts: tuple[str, ...]
    until: str = ""  # to which time binary logs are replayed
    run: str = ""  # process that began it, or went on with it last
    ended: str = ""  # when it first ended MariaDB's members, ISO 8601: what they wrote since is replaced

    @property
    def at(self) -> datetime | None:
        """Return when it first ended MariaDB's members, None before that."""
        return datetime.fromisoformat(self.ended) if self.ended else None

    @property
    def alive(self) -> bool:
        """Return whether a process that is not ours may work at it; none of this machine's former boots does."""
        return self.run != _own() and not run_lease.abandoned(_lease(self.run), rebooted=True)


def under_way(site: str) -> Restore | None:
    """Return the restore that has begun and not ended, None without one. Raises GroundupError when it is unreadable."""
    return read_record(
        _path(site), lambda said: Restore(**{**said, "parts": tuple(said["parts"])}), what="the record of a restore",
        why="a restore may be half done, and another one would mix two sets",
        remedy="if none is under way, remove the file",
    )  # fmt: skip


def refuse(
    found: Restore | None, *, sha256: str, parts: Sequence[str], until: str, force: Collection[str] = ()
) -> None:
    """Refuse to restore beside a run that works, or another set, parts or time than begun. Raises GroundupError."""
    if found is None:
        return
    if found.alive and RUN_GONE not in force:
        raise GroundupError(
            f"a restore is under way: of {found.set}, by {run_lease.holder(_lease(found.run))}",
            where="the state directory, " + FILE, why="two at once would mix their data",
            remedy="wait until it has ended; if its machine or container is gone for good, "
            f"-e '{{\"restore_force\": [\"{RUN_GONE}\"]}}' goes on with it",
        )  # fmt: skip
    if found.sha256 != sha256 or set(found.parts) != set(parts) or found.until != until:
        same = f"-e restore_from={found.set} -e '{json.dumps({'restore_parts': list(found.parts)})}'"
        same += f" -e restore_until={found.until}" if found.until else ""
        raise GroundupError(
            f"a restore of {', '.join(found.parts)} from {found.set} has begun and not ended",
            where="the state directory, " + FILE, why="parts of two sets would be of unlike times",
            remedy=f"{same} goes on; to begin another one all the same, remove {FILE}",
        )  # fmt: skip


def refuse_beside(site: str, *, why: str) -> None:
    """Refuse what must not run while a restore has begun and not ended; ``why``. Raises GroundupError."""
    if found := under_way(site):
        raise GroundupError(
            f"a restore of {', '.join(found.parts)} from {found.set} has begun and not ended",
            where="the state directory, " + FILE, why=why,
            remedy="wait until it has ended; if it was killed, run it again: it goes on",
        )  # fmt: skip


def begin(
    site: str, found: Restore | None, *, source: str, sha256: str, parts: Sequence[str], until: str
) -> Restore:  # fmt: skip
    """Write down that a restore is under way by this run; one that has begun keeps its name. Raises OSError."""
    name = found.name if found else datetime.now(UTC).strftime(_STAMP)
    ended = found.ended if found else ""
    restore = Restore(name=name, set=source, sha256=sha256, parts=tuple(parts), until=until, run=_own(), ended=ended)
    _path(site).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(site, restore)
    return restore


def ends_database(site: str, restore: Restore) -> None:
    """Write down, once, that MariaDB's members are about to be ended for a restore. Raises OSError."""
    if not restore.ended:
        _write(site, replace(restore, ended=datetime.now(UTC).isoformat(timespec="seconds")))


def _write(site: str, restore: Restore) -> None:
    write_file(_path(site), (json.dumps(asdict(restore)) + "\n").encode(), mode=0o600)


def end(site: str) -> None:
    """Write down that it has ended. Raises OSError."""
    _path(site).unlink(missing_ok=True)


def _path(site: str) -> Path:
    return state_dir(site) / FILE


def _own() -> str:
    return identity(os.getppid())  # every task is a process of its own


def _lease(run: str) -> dict[str, dict[str, str]]:
    return {"spec": {"holderIdentity": run}}
