"""Have the monitoring host's node exporter tell what runs of ours did and found: text files."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._base import files
from .._base.changes import Changes
from .._host import ownership, watched

AGES = "groundup_backup_newest_timestamp_seconds"
_AGE = re.compile(rf'^{AGES}{{part="(.+)"}} (\d+)$', re.MULTILINE)


def backups(changes: Changes, given: Mapping[str, Any]) -> dict[str, Any]:
    """Have the node exporter tell when parts were saved, ``given["backups"]``. Raises OSError."""
    ownership.refuse_other(given["site"])
    if watched.unit_file(watched.STORE).exists():
        ages(changes, given["backups"])
    return changes.result()


def drift(changes: Changes, given: Mapping[str, Any]) -> dict[str, Any]:
    """Have the node exporter tell what ``given["metrics"]`` says of drift. Raises OSError."""
    return _metrics(changes, given, watched.DRIFT)


def failure(changes: Changes, given: Mapping[str, Any]) -> dict[str, Any]:
    """Have the node exporter tell what ``given["metrics"]`` says of dead hypervisors. Raises OSError."""
    return _metrics(changes, given, watched.FAILURE)


def capacity(changes: Changes, given: Mapping[str, Any]) -> dict[str, Any]:
    """Have the node exporter tell what ``given["metrics"]`` says of the cloud's room. Raises OSError."""
    return _metrics(changes, given, watched.CAPACITY)


def _metrics(changes: Changes, given: Mapping[str, Any], path: Path) -> dict[str, Any]:
    ownership.refuse_other(given["site"])
    if watched.unit_file(watched.STORE).exists():
        files.place(changes, path, given["metrics"])
    return changes.result()


def ages(changes: Changes, taken: Mapping[str, int]) -> None:
    """Tell when each part was saved, 0: never. One keeps its newer time: sets may be out of reach, or elsewhere."""
    now = time.time()  # what a clock that was ahead has told is no age
    before = {part: int(at) for part, at in _AGE.findall(files.read(watched.BACKUPS) or "") if int(at) <= now}
    lines = [f'{AGES}{{part="{part}"}} {max(at, before.get(part, 0))}' for part, at in sorted(taken.items())]
    head = [f"# HELP {AGES} When the newest backup set saved a part; 0: never.", f"# TYPE {AGES} gauge"]
    files.place(changes, watched.BACKUPS, "\n".join([*head, *lines, ""]))
