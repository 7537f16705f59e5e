"""Panels of the whole site, and of monitoring itself."""

from __future__ import annotations

from .jobs import JOBS
from .logs import ALL_LINES, LINES
from .panels import DashboardRecord, PanelRecord, grown, most, rate
from .panels_hosts import ANSWERING, FILLING, RACK_MEMORY, RACK_PROCESSORS
from .panels_layers import API_ERRORS, CEPH_USED, HEALTH, MEMBERS, SERVED

# AlertingWorks, which always fires, has no severity.
FIRING = 'ALERTS{alertstate="firing",severity!="none"}'
_STAND_BY = "|".join(name for name, job in JOBS.items() if job.one_answers)
_SILENT = f'(up{{job!~"{_STAND_BY}"}} == bool 0)'
_PROGRAMS = "|".join(name for name, job in JOBS.items() if job.layer == "monitoring")


SITE = DashboardRecord(
    title="Site", what="The whole site at a glance",
    panels=(
        PanelRecord(
            title="Alerts", job="rules", expr=f"sum by (layer) ({FIRING}) or 0 * count by (layer) (up)",
            legend="{layer}", what="that fire, by layer",
        ),
        PanelRecord(
            title="Silent targets", job="store", expr=f"sum by (layer) ({_SILENT})", legend="{layer}",
            alerts=("HostDown", "TargetDown"), what="that do not answer, by layer; Ceph's managers are left out",
        ),
        ANSWERING, RACK_PROCESSORS, RACK_MEMORY, FILLING, MEMBERS, API_ERRORS, SERVED, HEALTH, CEPH_USED,
    ),
)  # fmt: skip

MONITORING = DashboardRecord(
    title="Monitoring", what="Who watches, and whether anybody is told",
    panels=(
        PanelRecord(
            title="Silent targets by job", job="store", expr=f"sum by (job) ({_SILENT})", legend="{job}",
            alerts=("TargetDown", "HostDown"), what="that do not answer; Ceph's managers are left out",
        ),
        PanelRecord(
            title="Slowest targets", job="store", unit="ms", legend="{job} of {object}",
            expr=most(10, "1000 * max by (job, object) (scrape_duration_seconds)"),
            what="time until a target has answered; the ten slowest",
        ),
        PanelRecord(
            title="Samples", job="store", unit="/s", legend="samples",
            expr=f"sum({rate('vm_rows_added_to_storage_total', 'store')})", what="that the store takes",
        ),
        PanelRecord(
            title="Series", job="store", legend="series",
            expr='max(vm_cache_entries{job="store",type="storage/hour_metric_ids"})',
            what="that had a sample within the hour: memory of the store follows from them",
        ),
        PanelRecord(
            title="Size of metrics", job="store", unit="GiB", legend="metrics",
            expr='sum(vm_data_size_bytes{job="store"}) / 2^30', what="on disk",
        ),
        PanelRecord(
            title="Room for metrics", job="store", unit="GiB", legend="free",
            expr='min(vm_free_disk_space_bytes{job="store"}) / 2^30',
            alerts=("DiskFilling",), what="free on the store's disk: below 1 it takes nothing",
        ),
        PanelRecord(
            title="Memory of monitoring", job="store", unit="MiB", legend="{job}",
            expr=f'max by (job) (process_resident_memory_bytes{{job=~"{_PROGRAMS}"}}) / 2^20', what="by program",
        ),
        PanelRecord(
            title="Slow queries", job="store", legend="queries",
            expr=f"sum({grown('vm_slow_queries_total', 'store')})", what="that took more than 5 s, within an hour",
        ),
        PanelRecord(
            title="Rules that failed", job="rules", legend="evaluations",
            expr=f"sum({grown('vmalert_execution_errors_total', 'rules')})",
            what="evaluations within an hour: an alert that cannot be judged does not fire",
        ),
        PanelRecord(
            title="Rules that came late", job="rules", legend="{group}",
            expr=f"sum by (group) ({grown('vmalert_iteration_missed_total', 'rules')})",
            what="evaluations that were left out within an hour, by layer: the store is too slow",
        ),
        PanelRecord(
            title="Alerts not handed over", job="rules", legend="alerts",
            expr=f"sum({grown('vmalert_alerts_send_errors_total', 'rules')})",
            what="that Alertmanager did not take from vmalert, within an hour",
        ),
        PanelRecord(
            title="Messages", job="alerts", legend="messages",
            expr=f"sum({grown('alertmanager_notifications_total', 'alerts')})",
            what="that Alertmanager tried to send, within an hour",
        ),
        PanelRecord(
            title="Messages that failed", job="alerts", legend="messages",
            expr=f"sum({grown('alertmanager_notifications_failed_total', 'alerts')})",
            what="within an hour: look at the receiver, nobody is told",
        ),
        PanelRecord(
            title="Lines of logs by host", job="log-rules", legend="{host}", expr=f"bottomk(20, {LINES})",
            alerts=("LogsStopped",), what="of its journal, in ten minutes; the twenty hosts with fewest",
        ),
        PanelRecord(
            title="Lines of logs", job="log-rules", unit="/s", legend="lines", expr=f"{ALL_LINES} / 600",
            alerts=("LogsMissing",), what="stored of all hosts and pods",
        ),
        PanelRecord(
            title="Size of logs", job="log-store", unit="GiB", legend="logs",
            expr='sum(vl_data_size_bytes{job="log-store"}) / 2^30', what="on disk",
        ),
        PanelRecord(
            title="Room for logs", job="log-store", unit="GiB", legend="free", alerts=("DiskFilling",),
            expr='min(vl_free_disk_space_bytes{job="log-store"}) / 2^30',
            what="free on the disk of logs: below 1 the store takes nothing",
        ),
        PanelRecord(
            title="Lines that were dropped", job="log-store", legend="{reason}",
            expr=f"sum by (reason) ({grown('vl_rows_dropped_total', 'log-store')})",
            what="within an hour: too old, too far ahead, or too long",
        ),
    ),
)  # fmt: skip
