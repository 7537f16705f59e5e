"""Monitoring in the site file: where it runs, how long metrics and logs stay, and who gets alerts."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from .backups import Schedule
from .base import Model, Name, Text, with_port

Url = Annotated[
    str,
    Field(
        pattern=r"^https?://[A-Za-z0-9.\-\[\]:]+(/[A-Za-z0-9._~%/\-]*)?$",
        max_length=1000,
        json_schema_extra={"examples": ["https://alerts.example.com/groundup"]},
    ),
    AfterValidator(with_port),
]


MailAddress = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9._%+=~/-]+@[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$",
        max_length=254,
        json_schema_extra={"examples": ["operators@example.com"]},
    ),
]


class Mail(Model):
    """Who gets alerts by mail, and by which server."""

    to: Annotated[list[MailAddress], Field(min_length=1)] = Field(description="Addresses that get alerts.")
    sender: MailAddress = Field(description="Address that they are from.")
    smarthost: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9.-]+:[0-9]{1,5}$",
            max_length=260,
            json_schema_extra={"examples": ["mail.example.com:587"]},
        ),
        AfterValidator(with_port),
    ] = Field(description="Server that takes them, host:port. With port 465 the connection begins with TLS.")
    username: Text | None = Field(
        None,
        description="Name to log in by; its password is monitoring/mail of the secrets store, given. Default: none.",
    )
    require_tls: bool = Field(
        True, description="Whether nothing is sent without TLS, with a certificate that the monitoring host trusts."
    )

    @model_validator(mode="after")
    def _no_password_in_clear(self) -> Mail:
        if self.username and not self.require_tls:
            raise ValueError("a login without TLS tells the password to the network: leave require_tls or username out")
        return self


class Pagerduty(Model):
    """PagerDuty, or what takes its events (API v2). Its key is monitoring/pagerduty of the secrets store, given."""

    url: Url | None = Field(None, description="URL that takes events. Default: PagerDuty's own.")


class RemoteWrite(Model):
    """Another store of metrics, by Prometheus' remote write."""

    url: Url = Field(
        description="URL that takes metrics.",
        json_schema_extra={"examples": ["https://metrics.example.com/api/v1/write"]},
    )
    username: Annotated[str, Field(pattern=r"^[A-Za-z0-9._@+-]+$", max_length=200)] | None = Field(
        None,
        description="Name to log in by; its password is monitoring/remote_write of the secrets store, given. Default: "
        "none.",
    )
    token: bool = Field(
        False,
        description="Whether monitoring/remote_write of the secrets store, given, is a bearer token to log in by.",
    )

    @model_validator(mode="after")
    def _one_login_and_not_in_clear(self) -> RemoteWrite:
        if self.username and self.token:
            raise ValueError("logs in by a name or by a token: leave username or token out")
        if (self.username or self.token) and not self.url.startswith("https:"):
            raise ValueError("a login without TLS tells the secret to the network: write an https URL, or no login")
        return self


class Logs(Model):
    """Logs of hosts and pods, kept on the monitoring host."""

    enabled: bool = Field(False, description="Whether hosts write their logs to the monitoring host.")
    retention_days: int = Field(14, ge=1, le=3650, description="Days that logs are kept.")
    max_gib: int = Field(
        20, ge=1, le=100000, description="GiB of disk that logs take before the oldest days go; two days stay."
    )


class CapacityAlerts(Model):
    """The room of the cloud as metrics, and when it is told to be full."""

    schedule: Schedule = Field(
        "hourly",
        description="When a timer on the control node asks the cloud (groundup.cloud.capacity): OnCalendar of systemd, "
        "daily or more often.",
        json_schema_extra={"examples": ["*:0/15"]},
    )
    percent: Annotated[int, Field(ge=1, le=99)] = Field(90, description="Percent in use that raise an alert.")
    days: Annotated[int, Field(ge=1, le=365)] = Field(
        30, description="Days ahead in which what is full by the growth of the last seven days raises an alert."
    )


# Layers that no run without a person at it may apply, and why.
NEVER_HEALED = {
    "plan": "what the site file says anew is applied by whoever wrote it",
    "supply": "what it builds goes to all hosts later",
    "metal": "it makes machines",
    "seed": "what it publishes is what every other host installs",
    "ironic": "it installs machines, which erases their disks",
    "kubernetes": "it restarts and replaces members of etcd",
    "storage": "it makes OSDs, which erases disks",
    "network": "it restarts and replaces members of OVN's databases",
}
HEALED = ("host", "openstack", "hypervisor", "monitoring")


def _healed(layer: str) -> str:
    """Return ``layer``, when it may run unattended. Raises ValueError."""
    if layer not in HEALED:
        why = NEVER_HEALED.get(layer, "there is no such layer")
        raise ValueError(f"may not run unattended, as {why}: write some of {', '.join(HEALED)}")
    return layer


def _window(value: str) -> str:
    first, _, last = value.partition("-")
    if first == last:
        raise ValueError("begins when it ends: write a begin and an end in UTC, such as 02:00-05:00")
    return value


_TIME = "([01][0-9]|2[0-3]):[0-5][0-9]"
HealedLayer = Annotated[str, AfterValidator(_healed), Field(json_schema_extra={"enum": [*HEALED]})]


class Heal(Model):
    """What the timer of drift mends by itself, when all that differs is of these layers."""

    layers: Annotated[list[HealedLayer], Field(min_length=1)] = Field(
        description="Layers whose playbook may run unattended."
    )
    window: Annotated[
        str,
        Field(pattern=f"^{_TIME}-{_TIME}$", json_schema_extra={"examples": ["02:00-05:00"]}),
        AfterValidator(_window),
    ] = Field(description="When one may start: begin and end in UTC. It may go over midnight.")


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
        description="URL that Alertmanager posts all alerts to (JSON), without a secret in it. Default, without mail "
        "and pagerduty: alerts are sent nowhere, and seen in its API alone.",
    )
    pagerduty: Pagerduty | None = Field(None, description="Where critical alerts page somebody. Default: nowhere.")
    mail: Mail | None = Field(
        None, description="Who gets alerts by mail: warnings; without pagerduty, critical ones, too. Default: nobody."
    )
    drift: Schedule | None = Field(
        None,
        description="When a timer on the control node compares the site with this file (groundup.cloud.drift) and "
        "tells the number of differences as a metric: OnCalendar of systemd, daily or more often. Default: no timer.",
        json_schema_extra={"examples": ["*-*-* 05:00:00"]},
    )
    capacity: CapacityAlerts | None = Field(
        None,
        description="Room for instances by zone and aggregate, for volumes and addresses as metrics, with alerts "
        "before it ends. Default: none.",
    )
    heal: Heal | None = Field(
        None, description="What is mended by itself after a comparison. Needs `drift`. Default: nothing."
    )
    remote_write: RemoteWrite | None = Field(
        None, description="Another store that gets all metrics, too, as they are scraped. Default: none."
    )
    logs: Logs = Field(default_factory=Logs, description="Logs of the whole site. Needs `enabled`.")

    @model_validator(mode="after")
    def _heals_what_it_finds(self) -> Monitoring:
        if self.heal and not self.drift:
            raise ValueError("heal needs drift: write when the site is compared, such as '*-*-* 02:30:00 UTC'")
        return self
