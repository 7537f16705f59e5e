"""Long steps are never silent: a reminder whenever nothing was heard for a while, and none before or after."""

from __future__ import annotations

import time

from ansible_collections.groundup.cloud.plugins.plugin_utils.progress import clock, reminder


def test_a_long_step_is_shown_again_and_again_until_it_ends() -> None:
    lines: list[str] = []
    with reminder(lines.append, "waiting for hosts", seconds=0.05):
        time.sleep(0.3)
    number = len(lines)
    assert 2 <= number <= 6
    assert set(lines) == {"waiting for hosts: 00:00 so far"}
    time.sleep(0.1)
    assert len(lines) == number


def test_a_step_that_is_heard_or_short_needs_no_reminder() -> None:
    lines: list[str] = []
    with reminder(lines.append, "tests", seconds=0.2) as heard:
        for _ in range(10):
            time.sleep(0.05)
            heard()
    with reminder(lines.append, "tests"):
        pass
    assert lines == []


def test_a_time_is_minutes_and_seconds() -> None:
    assert [clock(seconds) for seconds in (0, 59.9, 61, 6000)] == ["00:00", "00:59", "01:01", "100:00"]
