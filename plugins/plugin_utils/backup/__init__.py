"""Backups that the controller keeps of the parts of a site: one module a part, with a class `PART`.

A new part is a new file; `part.py` says what it has. If a host does its work, plugins/modules/backup.py names the
module of its host side, too.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from .part import BackupPart


def names() -> list[str]:
    """Return the names of all parts."""
    return sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py") if path.stem not in ("part", "shelf"))


def find(name: str) -> type[BackupPart[Any, Any]]:
    """Return the part ``name``; imports it alone."""
    found: type[BackupPart[Any, Any]] = import_module(f"{__name__}.{name}").PART
    return found
