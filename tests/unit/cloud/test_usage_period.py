"""Of which time usage is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.usage import accounts

NOW = datetime(2026, 11, 29, tzinfo=UTC)


def test_a_period_is_utc_and_by_default_this_month() -> None:
    assert accounts.period(start=None, end=None, now=NOW).start == datetime(2026, 11, 1, tzinfo=UTC)
    zoned = accounts.period(start="2026-11-02T02:00:00+02:00", end="2026-11-03T00:00:00Z", now=NOW)
    assert zoned.end - zoned.start == timedelta(days=1)
