"""Ceph's files on a storage host: data directories, cluster id, ownership."""

from __future__ import annotations

import os
import pwd
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .._base import files
from .._base.errors import GroundupError
from .model import CONF, LIB, USER, StorageNode

FSID = "groundup-fsid"  # file with the cluster's id in a monitor's data directory
OSDS = LIB / "osd"
SYSTEMD = Path("/etc/systemd/system")
_FSID = re.compile(r"^\s*fsid\s*=\s*([0-9a-fA-F-]{36})\s*$", re.MULTILINE)


def refuse_foreign(node: StorageNode) -> None:
    """Refuse a host with data or configuration of another cluster. Raises GroundupError."""
    if (fsid := written()) not in ("", node.ceph.fsid):
        raise _foreign(CONF, fsid, node)
    for store in sorted((LIB / "mon").glob("ceph-*")):
        known = (files.read(store / FSID) or "").strip()
        if any(store.iterdir()) and (known != node.ceph.fsid or store != node.store):
            raise _foreign(store, known or "a cluster that this product did not make", node)
    for directory in sorted(OSDS.glob("ceph-*")):
        known = (files.read(directory / "ceph_fsid") or "").strip()
        if any(directory.iterdir()) and known != node.ceph.fsid:
            raise _foreign(directory, known or "an unknown cluster", node)


def written() -> str:
    """Return the cluster's id in ceph.conf, "" without one."""
    found = _FSID.search(files.read(CONF) or "")
    return found[1].lower() if found else ""


def has_store(node: StorageNode) -> bool:
    """Return whether this host's monitor has data."""
    return (node.store / FSID).exists()


def osds(node: StorageNode) -> dict[str, int]:
    """Return the numbers of the cluster's OSDs on this host, by OSD id."""
    found = {}
    for directory in OSDS.glob("ceph-*"):
        if (files.read(directory / "ceph_fsid") or "").strip() == node.ceph.fsid:
            found[(files.read(directory / "fsid") or "").strip()] = int(directory.name.removeprefix("ceph-"))
    return found


def drop_in(number: int) -> Path:
    """Return the path of the systemd drop-in for an OSD on a whole device."""
    return SYSTEMD / f"ceph-osd@{number}.service.d/groundup.conf"


def owner() -> tuple[int, int]:
    """Return uid and gid of the daemons."""
    entry = pwd.getpwnam(USER)
    return entry.pw_uid, entry.pw_gid


def own(path: Path) -> None:
    """Change the owner of ``path`` and everything below it to the daemons' user."""
    user, group = owner()
    for one in (path, *path.rglob("*")):
        os.chown(one, user, group, follow_symlinks=False)


@contextmanager
def scratch(directory: Path) -> Iterator[Path]:
    """Create an empty private ``directory`` for files with keys, and remove it afterwards."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(mode=0o700, parents=True)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _foreign(path: Path, known: str, node: StorageNode) -> GroundupError:
    return GroundupError(
        f"{path} is of another Ceph: {known}",
        where=f"this host, {path}; the site's is {node.ceph.fsid}",
        why="it may be all that is left of somebody's data; nothing is changed here",
        remedy="correct the addresses in the site file; if nothing needs it: systemctl stop ceph.target, move "
        f"{path} away, then run this again",
    )
