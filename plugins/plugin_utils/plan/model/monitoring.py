"""Monitoring in the site file: where it runs, how long metrics and logs stay, and who gets alerts."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from .backups import Schedule
from .base import Model, Name, with_port

Url = Annotated[
    str,
    Field(
        pattern=r"^https?://[A-Za-z0-9.\-\[\]:]+(/[A-Za-z0-9._~%/\-]*)?$",
        max_length=1000,
        json_schema_extra={"examples": ["https://alerts.example.com/groundup"]},
    ),
    AfterValidator(with_port),
]


class Logs(Model):
    """Logs of hosts and pods, kept on the monitoring host."""

    enabled: bool = Field(False, description="Whether hosts write their logs to the monitoring host.")
    retention_days: int = Field(14, ge=1, le=3650, description="Days that logs are kept.")
    max_gib: int = Field(
        20, ge=1, le=100000, description="GiB of disk that logs take before the oldest days go; two days stay."
    )


class Monitoring(Model):
    """Metrics and alerts of the whole site."""

    enabled: bool = Field(False, description="Whether hosts tell metrics, and one of them keeps, judges and alerts.")
    host: Name | None = Field(
        None, description="Machine that scrapes and alerts, outside the cluster. Default: the first seed."
    )
    interval: int = Field(15, ge=5, le=300, description="Seconds between two scrapes of a target.")
    retention_days: int = Field(30, ge=1, le=3650, description="Days that metrics are kept.")
    webhook: Url | None = Field(
        None,
        description="URL that Alertmanager posts alerts to (JSON), without a secret in it. Default: alerts are sent "
        "nowhere, and seen in its API alone.",
    )
    drift: Schedule | None = Field(
        None,
        description="When a timer on the control node compares the site with this file (groundup.cloud.drift) and "
        "tells the number of differences as a metric: OnCalendar of systemd, daily or more often. Default: no timer.",
        json_schema_extra={"examples": ["*-*-* 05:00:00"]},
    )
    logs: Logs = Field(default_factory=Logs, description="Logs of the whole site. Needs `enabled`.")
