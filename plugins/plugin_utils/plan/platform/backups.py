"""Backups as the plan has them."""

from __future__ import annotations

from ..model.site import Site
from ..part_types import BackupPlan, S3Plan


def backups(site: Site) -> BackupPlan:
    """Return how sets of backups are kept, and when they are made."""
    written, target = site.backups, site.backups.s3
    s3 = target if target is None else S3Plan(
        endpoint=target.endpoint, bucket=target.bucket, region=target.region,
        prefix="/".join(filter(None, (target.prefix.strip("/"), site.site))) + "/",
        access_key=f"{target.credentials}-access-key", secret_key=f"{target.credentials}-secret-key",
    )  # fmt: skip
    return BackupPlan(
        keep=written.keep, keep_days=written.keep_days or 0, schedule=written.schedule,
        password_file=written.password_file, s3=s3, logs_every=written.logs_every or 0,
    )  # fmt: skip
