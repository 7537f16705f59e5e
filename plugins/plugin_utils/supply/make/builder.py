"""Interface of builders: each is a module in ``builders/``, named as in the lock, with an instance ``BUILDER``.

A builder reads ``entry.inputs`` and the artifacts in ``context.needs``, and writes its result to ``context.output``: a
file for the kinds ``root`` and ``image``, an empty directory for ``files``.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from importlib.util import resolve_name
from pathlib import Path
from typing import cast

from ...errors import GroundupError
from ..lock.model import Entry
from .context import BuildContext


class Builder(ABC):
    """The interface of a builder."""

    version = 1  # part of every key: raise it when the output of an unchanged entry changes

    def sources(self, entry: Entry) -> tuple[Path, ...]:
        """Return this collection's files and directories that the output depends on; they are part of the key."""
        del entry
        return ()

    @abstractmethod
    def build(self, entry: Entry, context: BuildContext) -> None:
        """Build the complete artifact, or raise."""


def builder_of(entry: Entry) -> Builder:
    """Return the builder of ``entry``. Raises GroundupError when it does not exist."""
    name = resolve_name(f"..builders.{entry.builder}", __package__)
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise GroundupError(
            f"artifact {entry.name}: there is no builder {entry.builder!r}",
            where="supply.lock",
            why="without it the artifact cannot be made",
            remedy="name one of the modules in plugin_utils/supply/builders",
        ) from None
    return cast("Builder", module.BUILDER)
