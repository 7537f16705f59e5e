"""Create a monitor's data once: for a new cluster, or to join the existing quorum."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.files import sync, write_file
from .._base.run import run
from . import configuration, disk
from .cluster import connected
from .model import ADMIN, LIB, StorageNode, rights


def make(changes: Changes, node: StorageNode, *, known: bool, silent: Sequence[str]) -> None:
    """Create the data of this host's monitor where it has none. Raises GroundupError.

    ``known``: some storage host has an OSD, so the cluster exists, and its quorum provides the monitor map. ``silent``:
    storage hosts that did not report whether they have one.
    """
    if disk.has_store(node):
        return
    if not known and silent:
        raise GroundupError(
            f"no new cluster is begun while {', '.join(silent)} did not say whether there is one",
            where="the storage hosts",
            why="a second one would know nothing of the first one's data",
            remedy="run this for all storage hosts at once, without --limit",
        )
    if not changes.add(f"make the data of monitor {node.name}" + (", as a member of the quorum" if known else "")):
        return
    run(["install", "-d", "-m", "750", "-o", "ceph", "-g", "ceph", str(node.store.parent)])
    with disk.scratch(LIB / "tmp/groundup-mon") as work:
        new, monmap, keys = work / "store", work / "monmap", work / "keyring"
        if known:
            write_file(monmap, _from_quorum(node), mode=0o600)
        else:
            run(["monmaptool", "--create", "--fsid", node.ceph.fsid, *_members(node), str(monmap)])
        allowed = configuration.caps(managers=node.ceph.managers, clients=rights(node.ceph))
        write_file(keys, configuration.keyring(node.keys, allowed).encode(), mode=0o600)
        new.mkdir(mode=0o750)
        disk.own(work)
        run(
            [
                "ceph-mon", "--mkfs", "--id", node.name, "--mon-data", str(new), "--monmap", str(monmap),
                "--keyring", str(keys), "--setuser", "ceph", "--setgroup", "ceph",
            ]
        )  # fmt: skip
        write_file(new / disk.FSID, f"{node.ceph.fsid}\n".encode(), mode=0o644)
        disk.own(new)
        _move(new, node.store)


def _members(node: StorageNode) -> list[str]:
    """Return monmaptool's arguments for the first monitors, with both ports."""
    found = []
    for name, address in node.monitors.items():
        found += ["--addv", name, f"[v2:{address}:3300,v1:{address}:6789]"]
    return found


def _from_quorum(node: StorageNode) -> bytes:
    others = {name: address for name, address in node.monitors.items() if name != node.name}
    if not others:
        raise GroundupError(
            "the only monitor has no data, and there are OSDs of its cluster",
            where=f"this host, {node.store}",
            why="a new monitor would know nothing of what is on them; nothing is made",
            remedy="restore the directory from a backup, or rebuild it from the OSDs: ceph-objectstore-tool "
            "--op update-mon-db, see Ceph's guide 'Recovery using OSDs'",
        )
    with connected(ADMIN, node.keys[ADMIN], others) as cluster:
        return cluster.send("mon getmap")


def _move(new: Path, store: Path) -> None:
    if store.exists():
        store.rmdir()  # empty: otherwise it was refused before
    new.rename(store)
    sync(store.parent)
