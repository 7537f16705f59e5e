"""Waiting for what comes to be."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(condition: Callable[[], bool], *, seconds: float) -> None:
    """Wait for a condition, asked once a second. Raises AssertionError when it does not come true in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(1.0)
