"""Steps of an upgrade on the control node of fixture `controller`."""

from __future__ import annotations

from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.job import UpgradeJob
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.run import UpgradeRun

from .cluster import CONTROL, NODES, SAID, Cluster, moved

SITE = "lab-ha"


def asked(version: str = "1.37.2", said: list[str] | None = None, **more: Any) -> UpgradeJob:
    lines = [] if said is None else said
    return UpgradeJob(site_file=version, say=lines.append, **{"seen": SAID, **more})


def step(kind: Any = "control", *hosts: str, evict: bool = False, force: tuple[str, ...] = ()) -> UpgradeRun:
    return UpgradeRun(job=asked(force=force), kind=kind, hosts=hosts, evict=evict)


def opened() -> journal.Upgrade:
    found = journal.under_way(SITE)
    assert found
    return found


def new(cluster: Cluster, *, kubelets: tuple[str, ...] = NODES) -> None:
    """Have the cluster run the new version."""
    moved(cluster, *CONTROL)
    cluster.proxy, cluster.dns = "v1.37.2", "v1.14.6"
    cluster.kubelets = dict.fromkeys(kubelets, "v1.37.2")
