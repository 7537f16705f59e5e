"""Rotation of credentials without a gap: one module a kind, with a class `KIND`. New ones are found by file name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import GroundupError
from .base import Kind


def by_name() -> dict[str, str]:
    """Return the module of every kind, by the kind's name: `keystone_keys` is keystone-keys."""
    files = (path.stem for path in Path(__file__).parent.joinpath("kinds").glob("[a-z]*.py"))
    return {stem.replace("_", "-"): stem for stem in sorted(files)}


def find(name: str) -> type[Kind[Any]]:
    """Return the kind ``name``; imports it alone: its client may be dear. Raises GroundupError for another name."""
    known = by_name()
    if name not in known:
        raise GroundupError(
            f"{name!r} cannot be rotated" if name else "nothing to rotate is named",
            where="the variable rotate_what", why="each kind of credential has its own way to change without a gap",
            remedy=f"one of {', '.join(known)}",
        )  # fmt: skip
    found: type[Kind[Any]] = import_module(f"{__name__}.kinds.{known[name]}").KIND
    return found
