"""Monitoring as the plan has it."""

from __future__ import annotations

from ..layout.context import Layout
from ..part_types import MonitoringPlan

ARTIFACTS = {"victoria-metrics": "1.151.0"}  # of supply.lock; a test compares them


def monitoring(layout: Layout) -> MonitoringPlan | None:
    """Return where metrics are kept and alerts go; None: the site has no monitoring."""
    written, seeds = layout.site.monitoring, layout.with_role("seed")
    host = written.host or (seeds[0].name if seeds else "")
    if not written.enabled:
        return None
    return MonitoringPlan(
        host=host, interval=written.interval, retention_days=written.retention_days, webhook=written.webhook,
        drift=written.drift, programs="/".join(*ARTIFACTS.items()),
    )  # fmt: skip


def artifacts(layout: Layout) -> tuple[str, ...]:
    """Return the artifacts of supply.lock that only sites with monitoring need."""
    return tuple(ARTIFACTS) if layout.site.monitoring.enabled else ()
