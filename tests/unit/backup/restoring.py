"""A restore on the control node, and archives as parts of a set have them."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from typing import Any

from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import documented
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore.job import RestoreJob
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.disk import SetBackup
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan

Make = Callable[..., SetBackup]
NETWORKS = {
    "service_cidr": "10.233.0.0/18", "dns_address": "10.233.0.10", "pod_cidr": "10.233.64.0/18",
    "dns_domain": "cluster.local", "cni": "flannel",
}  # fmt: skip


def job(plan: Plan, *, check: bool = False, **options: Any) -> RestoreJob:
    return RestoreJob(plan, given(parts=["kubernetes-keys"]) | options, Changes(check=check), say=lambda _: None)


def given(**options: Any) -> dict[str, Any]:
    defaults = {name: option.get("default") for name, option in documented("backup_set").items()}
    return {**defaults, "site_file": "site.yml", "site_force": (), **options}


def archive(*names: str, **texts: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in {**{name: name for name in names}, **texts}.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(text), 0o600
            archive.addfile(member, io.BytesIO(text.encode()))
    return packed.getvalue()
