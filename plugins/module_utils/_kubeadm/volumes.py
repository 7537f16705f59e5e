"""Volumes on a node's own disk, below the directory of the storage class `general`.

A node that leaves keeps their data: they are set aside, beside the directory. What the cluster does not know may be the
last copy of something, as after its claim was deleted.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path

from .._base import consent, files
from .._base.changes import Changes
from .._base.consent import Reason
from .half_made import MOST, SUFFIX
from .host import NodeHost
from .spec import Paths

DIRECTORY = "/srv/kubernetes-volumes"
DELETED = ".deleted-"  # of a claim that was deleted, by the class's teardown
OTHERS = "other-volumes"  # consent


def close(paths: Paths, changes: Changes) -> None:
    """Let no account of the host but root into the directory: pods reach their volumes by mounts. Raises OSError.

    A volume is what its pod makes of it, and many let everybody read: RabbitMQ's messages have users' tokens.
    """
    files.directory(changes, paths.at(DIRECTORY), mode=0o700)


def refuse(host: NodeHost, named: Collection[str], force: Collection[str]) -> None:
    """Refuse directories that nobody named, and more sets aside than `MOST`. Raises GroundupError, OSError."""
    names, place = {Path(one).name for one in named}, host.paths.at(DIRECTORY)
    against = []
    there = [one.name for one in _there(host.paths) if not one.name.startswith(DELETED)]
    if others := [name for name in there if name not in names]:
        text = (
            f"it has {', '.join(others[:10])}{', ...' if len(others) > 10 else ''}, which no volume of the cluster is"
        )
        against.append(Reason(text=text, code=OTHERS))
    if len(kept := {one.name.rsplit(".", 2)[-2] for one in _kept(host.paths)}) >= MOST and _there(host.paths):
        text = (
            f"volumes were set aside {len(kept)} times before ({', '.join(sorted(kept))}): delete those you do not need"
        )
        against.append(Reason(text=text))
    consent.refuse(
        "remove", host.name, against, force, where=f"host {host.name}, {place}",
        why="they may be the last copy of their data; nothing was changed on the host",
        first="see what is in them, and copy elsewhere what is needed",
    )  # fmt: skip


def set_aside(host: NodeHost, changes: Changes) -> None:
    """Move the volumes aside, under a name with the time, on the same file system. Raises OSError."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    place = host.paths.at(DIRECTORY)
    moved = _there(host.paths) if place.is_mount() else [place] if _there(host.paths) else []
    for one in moved:
        if changes.add(f"set {one} aside"):
            one.rename(one.with_name(f"{one.name}.{stamp}{SUFFIX}"))
    if kept := _kept(host.paths):
        changes.warnings.append(
            f"{host.name} keeps volumes: {', '.join(map(str, kept))}; delete them when nobody needs their data"
        )


def _there(paths: Paths) -> list[Path]:
    """Return what is in the directory, but what was set aside and what the file system keeps there."""
    place = paths.at(DIRECTORY)
    found = sorted(place.iterdir()) if place.is_dir() else []
    return [one for one in found if not one.name.endswith(SUFFIX) and one.name != "lost+found"]


def _kept(paths: Paths) -> list[Path]:
    place = paths.at(DIRECTORY)
    return sorted([*place.parent.glob(f"{place.name}.*{SUFFIX}"), *place.glob(f"*{SUFFIX}")])
