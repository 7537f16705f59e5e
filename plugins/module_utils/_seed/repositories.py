"""Serve repositories of OS packages: the snapshot in use and the former one, and a link that leads to the first."""

from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .._base import files
from .._base.changes import Changes

_DIGEST = re.compile(r'"sha256": "([0-9a-f]{8})')


def receive(changes: Changes, root: Path, wanted: list[dict[str, Any]]) -> list[str]:
    """Return the directories of snapshots to send; when none is missing, sign them and put them in use."""
    for one in wanted:
        _adopt(changes, root, one)
    lacking = [one["place"] for one in wanted if files.read(_home(root, one) / one["mark"]) != one["content"]]
    for place in lacking:
        changes.add(f"receive {root / place}")
    if lacking and not changes.check:
        return lacking
    for one in wanted:
        if one["signed"]:
            files.place(changes, _home(root, one) / one["release"], one["signed"])
        _use(changes, root, one)
    return []


def _adopt(changes: Changes, root: Path, one: dict[str, Any]) -> None:
    """Make the repository of a seed without snapshots the first one. Hosts still reach it by the path of the plan."""
    path = root / one["path"]
    mark = path / one["mark"]
    content = files.read(mark) or ""
    if path.is_symlink() or not (digest := _DIGEST.search(content)):
        return
    day = datetime.fromtimestamp(mark.stat().st_mtime, UTC)
    own = root / one["place"] if content == one["content"] else path.with_name(f"{day:%Y-%m-%d}-{digest[1]}")
    if changes.add(f"rename {path} to {own.name}"):
        if own.exists():  # of the same content, by its name
            _remove(own, one)
        path.rename(own)
        files.link(changes, path, own.name)


def _home(root: Path, one: dict[str, Any]) -> Path:
    """Return the directory of the snapshot; in a dry run that which is to be renamed to it."""
    path, place = root / str(one["path"]), root / str(one["place"])
    if not path.is_symlink() and files.read(path / one["mark"]) == one["content"]:
        return path
    return place


def _use(changes: Changes, root: Path, one: dict[str, Any]) -> None:
    """Lead the path of the plan to the snapshot, and remove all but that one and the former one."""
    path, place = root / one["path"], root / one["place"]
    if place == path:  # in a dry run, before the repository is built
        return
    if path.is_dir() and not path.is_symlink() and not changes.check:  # half sent by a killed run
        _remove(path, one)
    led = path.readlink().name if path.is_symlink() else ""  # hosts have it, whatever this controller knows
    files.link(changes, path, place.name)
    others = {each.name for each in path.parent.glob("*") if each.is_dir() and not each.is_symlink()} - {place.name}
    former = next((name for name in (led, one["former"]) if name in others), max(others, default=""))
    for name in sorted(others - {former, path.name}):
        if changes.add(f"remove {path.with_name(name)}"):
            _remove(path.with_name(name), one)


def _remove(place: Path, one: dict[str, Any]) -> None:
    """Remove a directory, first the mark that says it is whole: a killed run must not leave a half one with it."""
    (place / one["mark"]).unlink(missing_ok=True)
    shutil.rmtree(place)
