"""Mark an init or join in progress, and back up before a reset: a run resets no unmarked host.

The mark is written before kubeadm starts on a host without Kubernetes, and removed once the host is a member. With
`restore` the host is not reset: its keys, then its etcd data, came from a backup set (`etcd_restore`).
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from .._base.errors import GroundupError
from .._base.files import read, write_file
from . import data
from .spec import Paths

Verb = Literal["init", "join", "restore"]
FILE = "half-made.json"  # in Paths.site, which kubeadm reset leaves alone
SUFFIX = ".before-reset"
MOST = 5  # backups per directory, so that repeated failures do not fill the disk


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfMade:
    """An unfinished init, join or restore, begun by a run."""

    cluster: str  # its name
    verb: Verb


def begin(paths: Paths, mark: HalfMade) -> None:
    """Write the mark. Raises OSError."""
    data.forget(paths)
    write_file(paths.site / FILE, json.dumps(asdict(mark)).encode(), mode=0o600)


def begun(paths: Paths) -> HalfMade | None:
    """Return the unfinished init or join of this host; None without one."""
    try:
        return HalfMade(**json.loads(read(paths.site / FILE) or ""))
    except (ValueError, TypeError):
        return None


def ended(paths: Paths) -> None:
    """Remove the mark: the host is a member. Raises OSError."""
    (paths.site / FILE).unlink(missing_ok=True)


def set_aside(paths: Paths, *, etcd: bool, emptied: bool, host: str, now: datetime | None = None) -> tuple[Path, ...]:
    """Back up kubeadm's directory, and with ``etcd`` the data, beside the originals, time-stamped; return the backups.

    ``emptied``: whether the reset empties etcd's data directory. Overwrites nothing. Raises GroundupError when there
    are too many backups, or one would lie in an emptied directory; OSError.
    """
    stamp = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    places = [paths.kubernetes, *([_data(paths)] if etcd else [])]
    for place in places:
        if len(before := kept_of(place)) >= MOST:
            raise GroundupError(
                f"{host} was reset {len(before)} times before, and what was set aside is all there",
                where=f"host {host}, {before[0]} to {before[-1].name}",
                why="each keeps its disk space, and none is deleted by a run",
                remedy="find out why the node is never made (journalctl -u kubelet), then delete those you do not need",
            )
    stays = paths.etcd not in places
    if emptied and stays and (inside := [*kept_of(paths.etcd / "member"), *places[1:]]):
        raise GroundupError(
            f"{host} is not reset while data of etcd that are to be kept are in its data directory",
            where=f"host {host}, {', '.join(map(str, inside))}",
            why="kubeadm reset empties that directory",
            remedy="move them to another place, or delete those you do not need, then run this again",
        )
    kept = tuple(place.with_name(f"{place.name}.{stamp}{SUFFIX}") for place in places)
    # kubeadm's directory is copied, because the reset needs it. The data may be large and are moved.
    kept[0].mkdir(mode=0o700)
    try:
        shutil.copytree(paths.kubernetes, kept[0], symlinks=True, dirs_exist_ok=True)
        kept[0].chmod(0o700)
    except OSError as error:
        shutil.rmtree(kept[0], ignore_errors=True)
        raise GroundupError(
            f"the half-made node {host} is not reset: {paths.kubernetes} cannot be copied: {error}",
            where=f"host {host}, {kept[0]}",
            why="keys and kubeconfigs are never thrown away",
            remedy="see df -h and df -i there, make room, then run this again",
        ) from error
    if etcd:
        places[1].rename(kept[1])
    return kept


def kept_of(place: Path) -> list[Path]:
    """Return the earlier backups of ``place``, oldest first."""
    return sorted(place.parent.glob(f"{place.name}.*{SUFFIX}"))


def _data(paths: Paths) -> Path:
    """Return the directory with etcd's data that can be renamed: a mount point cannot."""
    return paths.etcd / "member" if paths.etcd.is_mount() else paths.etcd
