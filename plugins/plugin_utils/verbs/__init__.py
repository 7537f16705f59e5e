"""Verbs of day two on one machine: one module each, with a class `VERB`. New ones are found by their file's name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import GroundupError
from .base import Verb


def names() -> list[str]:
    return sorted(
        path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in ("__init__", "base", "parts")
    )


def find(name: str) -> type[Verb[Any]]:
    """Return the verb ``name``; imports it alone: its client may be dear. Raises GroundupError for another name."""
    if name not in names():
        raise GroundupError(
            f"there is no verb {name}", where="the option verb", why="a verb is a module of plugin_utils/verbs",
            remedy=f"one of {', '.join(names())}",
        )  # fmt: skip
    found: type[Verb[Any]] = import_module(f"{__name__}.{name}").VERB
    return found
