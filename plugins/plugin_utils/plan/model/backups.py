"""Backups in the site file: where the control node keeps their sets."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, Field

from .base import Model


def _directory(value: str) -> str:
    """Return ``value`` when it names one directory whoever reads it. Raises ValueError."""
    if not PurePosixPath(value).is_absolute() or ".." in PurePosixPath(value).parts or "\n" in value:
        raise ValueError("is no absolute path: write one such as /srv/backups")
    return str(PurePosixPath(value))


Directory = Annotated[
    str, Field(max_length=255, json_schema_extra={"examples": ["/srv/backups"]}), AfterValidator(_directory)
]


class Backups(Model):
    """Sets of backups (playbook groundup.cloud.backup)."""

    directory: Directory | None = Field(
        None,
        description="Directory on the control node, best a file system of another place that is mounted there; each "
        "site has its own below. Default: the state directory, which is lost with the control node.",
    )
