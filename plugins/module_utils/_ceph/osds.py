"""OSDs: each has an id that follows from cluster, host and device, so that a killed run goes on where it was."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.files import read, write_file
from .._base.run import run
from . import devices, disk
from .cluster import Cluster
from .model import Node, Osd


def missing(node: Node) -> list[Osd]:
    """Return the OSDs that this host is to have and has not."""
    there = disk.osds(node)
    return [one for one in node.osds if one.uuid not in there]


def check(node: Node) -> None:
    """Refuse a device for a new OSD that holds data. Raises GroundupError, OSError."""
    for one in missing(node):
        if one.device and not begun(one).exists():
            devices.refuse_used(one.device)


def make(changes: Changes, cluster: Cluster, node: Node, osd: Osd) -> None:
    """Make one OSD, or go on making it. Raises GroundupError, OSError."""
    changes.add(f"make {label(osd)}")
    work = begun(osd)
    work.mkdir(mode=0o750, parents=True, exist_ok=True)
    number = _number(cluster, node, osd, work)
    _fill(node, osd, work, number)
    disk.own(work)
    place = disk.OSDS / f"ceph-{number}"
    if place.exists():
        place.rmdir()  # empty: another OSD's would have been found
    work.rename(place)
    disk.sync(disk.OSDS)


def label(osd: Osd) -> str:
    """Return how an OSD is called before it has a number."""
    return f"an OSD on {osd.device or f'a file of {osd.size_gb} GiB ({osd.name})'}"


def begun(osd: Osd) -> Path:
    """Return the directory of an OSD that is being made: none of its data was ever used."""
    return disk.OSDS / f".new-{osd.uuid}"


def _number(cluster: Cluster, node: Node, osd: Osd, work: Path) -> int:
    """Return the OSD's number: the monitors give the same one to the same id and key, however often they are asked."""
    secret = read(work / "secret") or run(["ceph-authtool", "--gen-print-key"]).strip()
    write_file(work / "secret", secret.encode(), mode=0o600)
    try:
        content = json.dumps({"cephx_secret": secret, "crush_device_class": osd.device_class})
        answer = cluster.ask("osd new", uuid=osd.uuid, content=content)
    except GroundupError as error:
        raise GroundupError(
            f"OSD {osd.name} of {node.name} cannot be made: {error.what}",
            where=f"this host, {osd.device or osd.name}; id {osd.uuid}",
            why="the cluster may know it with another key, from before its data or its host were lost",
            remedy=f"ceph osd dump | grep {osd.uuid}; when its copies are elsewhere (all PGs active+clean): "
            "ceph osd purge <number> --yes-i-really-mean-it, then run this again",
        ) from None
    number = int(answer["osdid"])
    write_file(work / "keyring", f"[osd.{number}]\n\tkey = {secret}\n".encode(), mode=0o600)
    return number


def _fill(node: Node, osd: Osd, work: Path, number: int) -> None:
    """Write an empty object store. What a killed run left of it is begun again: it was never started."""
    for path in work.iterdir():
        if path.name not in ("secret", "keyring"):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    block = work / "block"
    if osd.device:
        block.symlink_to(osd.device)
        shutil.chown(osd.device, "ceph", "ceph")
    else:
        with block.open("wb") as stream:
            stream.truncate((osd.size_gb or 0) * devices.GIB)
    disk.own(work)
    run(
        [
            "ceph-osd", "--mkfs", "--no-mon-config", "--id", str(number), "--osd-data", str(work),
            "--osd-uuid", osd.uuid, "--setuser", "ceph", "--setgroup", "ceph",
        ],
        timeout=600,
    )  # fmt: skip
    if not (work / "ceph_fsid").exists():
        write_file(work / "ceph_fsid", f"{node.fsid}\n".encode(), mode=0o644)
