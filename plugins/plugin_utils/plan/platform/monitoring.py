"""Monitoring as the plan has it."""

from __future__ import annotations

from ....module_utils._host.watched import DOOR_PORT
from ..layout.context import Layout
from ..model.monitoring import Mail, RemoteWrite
from ..part_types import CapacityPlan, HealPlan, LogsPlan, MailPlan, MonitoringPlan, PagerdutyPlan, RemoteWritePlan

METRICS, LOGS = "victoria-metrics", "victoria-logs"
MAIL, PAGERDUTY, REMOTE_WRITE = (
    "monitoring/mail",
    "monitoring/pagerduty",
    "monitoring/remote_write",
)  # secrets that somebody else made
ARTIFACTS = {METRICS: "1.151.0", LOGS: "1.52.1"}  # of supply.lock; a test compares them


def monitoring(layout: Layout) -> MonitoringPlan | None:
    """Return where metrics and logs are kept and alerts go; None: the site has no monitoring."""
    written, seeds = layout.site.monitoring, layout.with_role("seed")
    host = written.host or (seeds[0].name if seeds else "")
    if not written.enabled:
        return None
    return MonitoringPlan(
        host=host, interval=written.interval, retention_days=written.retention_days, webhook=written.webhook,
        pagerduty=PagerdutyPlan(url=written.pagerduty.url, secret=PAGERDUTY) if written.pagerduty else None,
        mail=_mail(written.mail) if written.mail else None, drift=written.drift, programs=_place(METRICS),
        logs=_logs(layout, host) if keeps_logs(layout) else None,
        heal=HealPlan(layers=tuple(written.heal.layers), window=written.heal.window) if written.heal else None,
        capacity=CapacityPlan(**dict(written.capacity)) if written.capacity else None,
        remote_write=_remote_write(written.remote_write) if written.remote_write else None,
    )  # fmt: skip


def keeps_logs(layout: Layout) -> bool:
    """Say whether the site keeps logs."""
    return layout.site.monitoring.enabled and layout.site.monitoring.logs.enabled


def artifacts(layout: Layout) -> tuple[str, ...]:
    """Return the artifacts of supply.lock that only sites with monitoring need."""
    if not layout.site.monitoring.enabled:
        return ()
    return tuple(ARTIFACTS) if keeps_logs(layout) else (METRICS,)


def _logs(layout: Layout, host: str) -> LogsPlan:
    written, address = layout.site.monitoring.logs, layout.hosts[host].address if host in layout.hosts else host
    return LogsPlan(
        url=f"https://{address}:{DOOR_PORT}/insert/native", retention_days=written.retention_days,
        max_gib=written.max_gib, programs=_place(LOGS),
    )  # fmt: skip


def _mail(written: Mail) -> MailPlan:
    return MailPlan(
        to=tuple(written.to), sender=written.sender, smarthost=written.smarthost, username=written.username,
        require_tls=written.require_tls, secret=MAIL if written.username else None,
    )  # fmt: skip


def _remote_write(written: RemoteWrite) -> RemoteWritePlan:
    secret = REMOTE_WRITE if written.username or written.token else None
    return RemoteWritePlan(url=written.url, username=written.username, secret=secret)


def _place(artifact: str) -> str:
    return f"{artifact}/{ARTIFACTS[artifact]}"
