"""Read a record of the state directory: absent before there is one, an error with its remedy when it is damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ..module_utils._base.files import read
from .errors import GroundupError

Parsed = TypeVar("Parsed")


def read_record(path: Path, parse: Callable[[Any], Parsed], *, what: str, why: str, remedy: str) -> Parsed | None:
    """Return what ``parse`` makes of the JSON in ``path``, None without the file.

    ``what``: "the record of a restore". Raises GroundupError for what is no JSON, or not what ``parse`` takes.
    """
    if (text := read(path)) is None:
        return None
    try:
        return parse(json.loads(text))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise GroundupError(f"{what} cannot be read: {error}", where=str(path), why=why, remedy=remedy) from error
