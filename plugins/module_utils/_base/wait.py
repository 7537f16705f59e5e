"""Waiting for something another program does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Pending = TypeVar("Pending")


def wait_until(pending: Callable[[], Pending], *, timeout: float, pause: float = 0.5) -> Pending:
    """Ask every ``pause`` seconds until nothing is ``pending`` or ``timeout`` seconds are over; return the last answer.

    ``pending`` returns what is still missing, such as a reason or names; something false when nothing is.
    """
    deadline = time.monotonic() + timeout
    while (missing := pending()) and time.monotonic() < deadline:
        time.sleep(pause)
    return missing
