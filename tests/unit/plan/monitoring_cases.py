"""Mistakes in what a site file says of monitoring, each with the finding it is."""

from __future__ import annotations

from typing import Any

_ON = {"monitoring/enabled": True}
_FAILURE, _FAILED = "openstack/hypervisor_failure", "openstack.hypervisor_failure"

# name, severity, example, changes, a key the finding points at
CASES: list[tuple[str, str, str, dict[str, Any], str]] = [
    ("monitoring-without-host", "error", "lab", {**_ON, "machines": {"control": {"count": 1}}}, "monitoring.host"),
    ("monitoring-host-unknown", "error", "lab", {**_ON, "monitoring/host": "seed-9"}, "monitoring.host"),
    ("monitoring-inside", "warning", "lab", {**_ON, "monitoring/host": "worker-1"}, "monitoring.host"),
    ("logs-without-monitoring", "warning", "lab", {"monitoring/logs/enabled": True}, "monitoring.logs.enabled"),
    ("monitoring-without-receiver", "warning", "lab", _ON, "monitoring.webhook"),
    ("failure-unheard", "warning", "lab", {f"{_FAILURE}/action": "tell"}, _FAILED),
    (
        "evacuation-without-fence", "error", "rack",
        {f"{_FAILURE}/action": "evacuate", "storage/backend": "external"}, f"{_FAILED}.action",
    ),
    ("failure-without-hypervisors", "error", "lab", {f"{_FAILURE}/action": "tell"}, _FAILED),
    ("monitoring-warnings-unheard", "warning", "lab", {**_ON, "monitoring/pagerduty": {}}, "monitoring.mail"),
]  # fmt: skip
