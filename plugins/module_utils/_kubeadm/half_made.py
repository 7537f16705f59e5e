"""The mark of an init or join under way, and what is set aside before a reset: a run resets nothing else.

The mark is written before kubeadm starts on a host that has nothing of Kubernetes, and goes when the host is a member.
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

Verb = Literal["init", "join"]
FILE = "half-made.json"  # in Paths.site, which kubeadm reset leaves alone
SUFFIX = ".before-reset"
MOST = 5  # of a directory that were set aside: a host that never becomes a node does not fill its disk


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfMade:
    """An init or join that a run began and that did not come to its end."""

    cluster: str  # its name
    verb: Verb


def begin(paths: Paths, mark: HalfMade) -> None:
    """Note what is about to start. Raises OSError."""
    data.forget(paths)
    write_file(paths.site / FILE, json.dumps(asdict(mark)).encode(), mode=0o600)


def begun(paths: Paths) -> HalfMade | None:
    """Return what a run began on this host, None when nothing is under way."""
    try:
        return HalfMade(**json.loads(read(paths.site / FILE) or ""))
    except (ValueError, TypeError):
        return None


def ended(paths: Paths) -> None:
    """Forget it: the host is a member. Raises OSError."""
    (paths.site / FILE).unlink(missing_ok=True)


def set_aside(paths: Paths, *, etcd: bool, emptied: bool, host: str, now: datetime | None = None) -> tuple[Path, ...]:
    """Keep kubeadm's directory, and with ``etcd`` the data, beside their places under a time stamp; return where.

    ``emptied``: whether the reset empties etcd's data directory. Nothing is overwritten. Raises GroundupError when too
    much was set aside before, or data would have to be kept in an emptied directory; OSError.
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
    # A copy: kubeadm needs it for the reset. The data may be large and are moved.
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
    """Return what was set aside of ``place`` before, oldest first."""
    return sorted(place.parent.glob(f"{place.name}.*{SUFFIX}"))


def _data(paths: Paths) -> Path:
    """Return what holds etcd's data and can be renamed: a mount cannot."""
    return paths.etcd / "member" if paths.etcd.is_mount() else paths.etcd
