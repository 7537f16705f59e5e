"""Whether sets and binary logs are elsewhere than what they are to save."""

from __future__ import annotations

from pathlib import Path

from ...kube.access import kubeconfig_path
from ...plan.findings.backups import own_store
from ...plan.types import Plan
from .disk import SetShelf

NOT_OFF_HOST = (
    "sets are on this machine's own disk, and are lost with it (no-target-off-host): mount a file system of another "
    "place, and write its directory into backups.directory of the site file; or name a bucket (backups.s3)"
)


LOGS_ON_HOST = (
    "binary logs are on this machine's own disk, and go into no bucket (logs-on-host): mount a file system of another "
    "place, and write its directory into backups.directory of the site file"
)


def off_host(plan: Plan, shelf: SetShelf) -> bool:
    """Return whether sets are kept on another file system than the state of the site, or in a bucket elsewhere."""
    return (plan.backups.s3 is not None and not own_store(plan)) or _other_disk(plan, shelf)


def exposed(plan: Plan, shelf: SetShelf) -> list[str]:
    """Return what is lost with this machine."""
    if not off_host(plan, shelf):
        return [NOT_OFF_HOST]
    return [LOGS_ON_HOST] if plan.backups.logs_every and not _other_disk(plan, shelf) else []


def _other_disk(plan: Plan, shelf: SetShelf) -> bool:
    home = next((one for one in (shelf.home, *shelf.home.parents) if one.exists()), Path("/"))
    state = kubeconfig_path(plan.site).parent
    return state not in (shelf.home, *shelf.home.parents) and (
        not state.exists() or home.stat().st_dev != state.stat().st_dev
    )
