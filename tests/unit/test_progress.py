"""Long steps are never silent: a reminder whenever nothing was heard for a while, and none before or after."""

from __future__ import annotations

import re
import threading
import time
from itertools import pairwise

from ansible_collections.groundup.cloud.plugins.plugin_utils.progress import clock, reminder


def test_a_long_step_is_shown_again_and_again_until_it_ends() -> None:
    lines: list[str] = []
    twice = threading.Event()

    def progress(line: str) -> None:
        lines.append(line)
        if len(lines) == 2:
            twice.set()

    with reminder(progress, "waiting for hosts", seconds=0.02):
        assert twice.wait(60)
    number = len(lines)
    assert all(re.fullmatch(r"waiting for hosts: 00:\d\d so far", line) for line in lines)
    time.sleep(0.1)
    assert len(lines) == number


def test_a_step_that_is_heard_or_short_needs_no_reminder() -> None:
    lines: list[str] = []
    for _ in range(10):
        lines.clear()
        times = [time.monotonic()]
        with reminder(lines.append, "tests", seconds=1.0) as heard:
            for _ in range(24):
                time.sleep(0.05)
                heard()
                times.append(time.monotonic())
        if max(later - earlier for earlier, later in pairwise(times)) < 0.9:
            break  # else the machine let it be silent for too long
    with reminder(lines.append, "tests"):
        pass
    assert lines == []


def test_a_time_is_minutes_and_seconds() -> None:
    assert [clock(seconds) for seconds in (0, 59.9, 61, 6000)] == ["00:00", "00:59", "01:01", "100:00"]
