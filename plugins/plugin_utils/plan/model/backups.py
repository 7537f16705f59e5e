"""Backups in the site file: where their sets are kept, for how long, and when they are made."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, Field

from .base import Model, with_port


def _directory(value: str) -> str:
    """Return ``value`` when it names one directory whoever reads it. Raises ValueError."""
    if not PurePosixPath(value).is_absolute() or ".." in PurePosixPath(value).parts or "\n" in value:
        raise ValueError("is no absolute path: write one such as /srv/backups")
    return str(PurePosixPath(value))


Directory = Annotated[
    str, Field(max_length=255, json_schema_extra={"examples": ["/srv/backups"]}), AfterValidator(_directory)
]


Schedule = Annotated[str, Field(pattern=r"^[A-Za-z0-9 *,./:~\-]+$", max_length=100)]  # systemd.time(7), OnCalendar


class S3Target(Model):
    """An S3 bucket that gets a copy of each set (any server of the S3 protocol)."""

    endpoint: Annotated[
        str, Field(pattern=r"^https?://[A-Za-z0-9.\-\[\]:]+$", max_length=255), AfterValidator(with_port)
    ] = Field(
        description="URL of the server. The site's own object store, alone, is refused.",
        json_schema_extra={"examples": ["https://s3.example.com"]},
    )
    bucket: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.\-]{1,61}[a-z0-9]$")] = Field(
        description="Name of the bucket, which exists."
    )
    prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9._/\-]*$", max_length=200)] = Field(
        "", description="Begin of the objects' names; below it a folder a site."
    )
    region: Annotated[str, Field(pattern=r"^[a-z0-9\-]+$")] = Field(
        "us-east-1", description="Region that requests are signed for."
    )
    credentials: Annotated[str, Field(pattern=r"^[a-z0-9]+(/[a-z0-9\-]+)?$")] = Field(
        "backups/s3",
        description="Begin of the names in the secrets store: NAME-access-key and NAME-secret-key, which you give "
        "(playbook groundup.cloud.secrets, secrets_given).",
    )


class Backups(Model):
    """Sets of backups (playbook groundup.cloud.backup)."""

    directory: Directory | None = Field(
        None,
        description="Directory on the control node, best a file system of another place that is mounted there; each "
        "site has its own below. Default: the state directory, which is lost with the control node.",
    )
    keep: int = Field(14, ge=0, description="Number of sets to keep; 0: all.")
    keep_days: int | None = Field(
        None,
        ge=1,
        description="Age in days beyond which a set is removed, however few there are. The newest, and the newest that "
        "passed its restore test, always stay. Default: no limit.",
    )
    schedule: Schedule | None = Field(
        None,
        description="When a systemd timer of the control node makes a backup (systemd.time(7), OnCalendar). "
        "Default: no timer.",
        json_schema_extra={"examples": ["*-*-* 02:00:00"]},
    )
    password_file: Directory | None = Field(
        None,
        description="File on the control node with the password of the secrets store, or a script that prints it, for "
        "the timers of backups, monitoring.drift, monitoring.capacity and openstack.hypervisor_failure. Default: that "
        "of the run which makes the timer.",
        json_schema_extra={"examples": ["/root/.config/groundup/cloud.vault-password"]},
    )
    logs_every: int | None = Field(
        None,
        ge=1,
        le=600,
        description="Seconds after which what was committed to MariaDB is copied beside the sets: its binary logs, by "
        "a unit of systemd on the control node (playbook groundup.cloud.backup_logs). Default: not copied.",
        json_schema_extra={"examples": [5]},
    )
    s3: S3Target | None = Field(None, description="Bucket elsewhere that gets a copy of each set. Default: none.")
