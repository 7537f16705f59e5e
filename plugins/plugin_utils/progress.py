"""Progress of long steps: lines in a log; on a terminal a block of lines, redrawn in place."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str], None]  # shows one line
SILENCE = 25.0  # seconds: longest silence
# Read at import: Ansible's workers have no terminal, but inherit this module from the process that has one.
TERMINAL = shutil.get_terminal_size() if sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb" else None


def no_progress(line: str) -> None:
    """Show nothing."""
    del line


def clock(seconds: float) -> str:
    """Return ``mm:ss``."""
    return f"{int(seconds) // 60:02}:{int(seconds) % 60:02}"


@contextmanager
def reminder(progress: Progress, what: str, *, seconds: float = SILENCE) -> Iterator[Callable[[], None]]:
    """Show ``what`` and the elapsed time after each ``seconds`` without a call of the yielded function."""
    heard, ended, start = threading.Event(), threading.Event(), time.monotonic()

    def remind() -> None:
        while not ended.is_set():
            if heard.wait(seconds):
                heard.clear()
            else:
                progress(f"{what}: {clock(time.monotonic() - start)} so far")

    thread = threading.Thread(target=remind, name="reminder", daemon=True)
    thread.start()
    try:
        yield heard.set
    finally:
        ended.set()
        heard.set()
        thread.join()
