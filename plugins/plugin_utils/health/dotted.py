"""Values by dotted path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def at(values: Mapping[str, Any], path: str) -> Any:
    """Return the value at a dotted path, None when there is none."""
    current: Any = values
    for part in path.split("."):
        if not isinstance(current, Mapping):
            return None
        current = current.get(part)
    return current
