"""Wait for the work of another program."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Pending = TypeVar("Pending")


def wait_until(pending: Callable[[], Pending], *, timeout: float, pause: float = 0.5) -> Pending:
    """Call ``pending`` every ``pause`` seconds until it returns something false, or for ``timeout`` seconds.

    ``pending`` returns what is missing, such as a reason or names. Returns its last answer.
    """
    deadline = time.monotonic() + timeout
    while (missing := pending()) and time.monotonic() < deadline:
        time.sleep(pause)
    return missing
