"""Waiting for something another program does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Pending = TypeVar("Pending")


def wait_until(pending: Callable[[], Pending], *, timeout: float, pause: float = 0.5) -> Pending:
    """Ask until ``pending`` returns something false, or ``timeout`` is over; return its last answer.

    Args:
        pending: returns what is still missing, such as a reason or a list of names; false when there is nothing left.
        timeout: seconds; it is asked once more when they are over.
        pause: seconds between two questions.
    """
    deadline = time.monotonic() + timeout
    while (missing := pending()) and time.monotonic() < deadline:
        time.sleep(pause)
    return missing
