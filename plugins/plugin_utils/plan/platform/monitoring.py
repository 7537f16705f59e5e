"""Monitoring as the plan has it."""

from __future__ import annotations

from ..layout.context import Layout
from ..part_types import MonitoringPlan


def monitoring(layout: Layout) -> MonitoringPlan | None:
    """Return where metrics are kept and alerts go; None: the site has no monitoring."""
    written, seeds = layout.site.monitoring, layout.with_role("seed")
    host = written.host or (seeds[0].name if seeds else "")
    if not written.enabled:
        return None
    return MonitoringPlan(
        host=host, interval=written.interval, retention_days=written.retention_days, webhook=written.webhook
    )
