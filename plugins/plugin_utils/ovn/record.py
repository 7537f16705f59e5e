"""The record of the site's OVN clusters: no second one is ever created, whatever hosts have lost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from ...module_utils._base.files import write_file
from ..paths import state_dir
from ..record import read_record


def record_path(site: str) -> Path:
    """Return the path of the control node's record of the clusters of ``site``."""
    return state_dir(site) / "ovn.json"


def known(site: str) -> dict[str, str]:
    """Return each database's cluster id; empty before there is one. Raises GroundupError for a damaged record."""
    found = read_record(
        record_path(site), lambda content: {str(name): str(cluster) for name, cluster in content.items()},
        what=f"the record of OVN's clusters of site {site}",
        why="without it the control node cannot tell these clusters from others",
        remedy="restore it from a backup, or move it away: it is written again from what the control hosts have",
    )  # fmt: skip
    return found or {}


def keep(site: str, databases: Mapping[str, str | None]) -> None:
    """Record clusters that a host has and the record lacks; the modules refuse other ones earlier. Raises OSError."""
    before = known(site)
    after = {name: cluster for name, cluster in databases.items() if cluster} | before
    if after != before:
        _write(site, after)


def forget(site: str, database: str) -> None:
    """Drop a database whose cluster is lost from the record: a new one may be made. Raises OSError."""
    _write(site, {name: cluster for name, cluster in known(site).items() if name != database})


def _write(site: str, content: Mapping[str, str]) -> None:
    path = record_path(site)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_file(path, (json.dumps(content, sort_keys=True) + "\n").encode(), mode=0o644)
