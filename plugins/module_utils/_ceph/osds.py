"""Create OSDs. Ids are derived from cluster, host and name, so that a killed run can be continued."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.files import read, sync, write_file
from .._base.run import run
from . import devices, disk, replace, same_disk
from .cluster import CephCluster
from .model import OsdDaemon, StorageNode


def missing(node: StorageNode) -> list[OsdDaemon]:
    """Return the planned OSDs that this host lacks."""
    there = disk.osds(node)
    return [one for one in node.osds if one.uuid not in there]


def check(node: StorageNode) -> None:
    """Refuse two OSDs on a disk, a used device, an existing OSD without its data. Raises GroundupError, OSError."""
    same_disk.refuse(node.osds)
    there = disk.osds(node)
    for one in node.osds:
        if one.uuid in there and not replace.holds(one, there[one.uuid]):
            raise _lost(node, one, there[one.uuid])
        if one.uuid not in there and one.device:
            _refuse_used(node, one, one.device)


def make(changes: Changes, cluster: CephCluster, node: StorageNode, osd: OsdDaemon) -> None:
    """Create one OSD, or continue a killed run's. Raises GroundupError, OSError."""
    known = next((one["osd"] for one in cluster.ask("osd dump")["osds"] if one["uuid"] == osd.uuid), None)
    work = begun(osd)
    if known is not None and not work.exists():
        raise _lost(node, osd, known)
    if not changes.add(f"make {label(osd)}"):
        return
    work.mkdir(mode=0o750, parents=True, exist_ok=True)
    number = _number(cluster, node, osd, work)
    _fill(node, osd, work, number)
    disk.own(work)
    place = disk.OSDS / f"ceph-{number}"
    if place.exists():
        place.rmdir()  # empty: otherwise it was found as another OSD's before
    work.rename(place)
    sync(disk.OSDS)


def label(osd: OsdDaemon) -> str:
    """Return an OSD's description before it has a number."""
    return f"an OSD on {osd.device or f'a file of {osd.size_gb} GiB ({osd.name})'}"


def begun(osd: OsdDaemon) -> Path:
    """Return the temporary directory of an OSD under construction, which has never run."""
    return disk.OSDS / f".new-{osd.uuid}"


def _refuse_used(node: StorageNode, osd: OsdDaemon, device: str) -> None:
    """Refuse a used device, unless a killed run left an unfinished OSD: its directory, and its label, mkfs's first."""
    if not (begun(osd).exists() and devices.labels(device) == [osd.uuid]):
        devices.refuse_used(device, ours=[other.uuid for other in node.osds])


def _number(cluster: CephCluster, node: StorageNode, osd: OsdDaemon, work: Path) -> int:
    """Register the OSD; return its number. Monitors always give the same number to the same id and key."""
    secret = read(work / "secret") or run(["ceph-authtool", "--gen-print-key"]).strip()
    write_file(work / "secret", secret.encode(), mode=0o600)
    taken_over = replace.number_of(cluster, node.name, osd.uuid)
    own = {} if taken_over is None else {"id": taken_over}
    content = json.dumps({"cephx_secret": secret, "crush_device_class": osd.device_class})
    answer = cluster.ask("osd new", uuid=osd.uuid, content=content, **own)
    number = int(answer["osdid"])
    write_file(work / "keyring", f"[osd.{number}]\n\tkey = {secret}\n".encode(), mode=0o600)
    return number


def _lost(node: StorageNode, osd: OsdDaemon, number: int) -> GroundupError:
    there, failed = list[str](), ""
    try:
        there = devices.labels(osd.device) if osd.device else []
    except OSError as error:
        failed = f"{osd.device} cannot be read ({error.strerror})"
    swapped = [f"the OSD of {one.device}" for one in node.osds if one.uuid in there]
    found = failed or f"{osd.device} holds {', '.join(swapped or there) or 'no OSD'}"
    if osd.device and not Path(osd.device).exists():
        found = f"there is no {osd.device}"
    where = f"layer storage: osd.{number} on {node.name}, id {osd.uuid}"
    if swapped:
        return GroundupError(
            f"osd.{number} of {node.name} is not in its place: {found}",
            where=where,
            why="an OSD belongs to the path of its device; its data are on another one",
            remedy="put each disk back into its own place (the same path); replace none",
        )
    return GroundupError(
        f"osd.{number} of {node.name} has lost its data: {found if osd.device else f'the file {osd.name}'}",
        where=where,
        why="the cluster knows it by a key that went with its data; an empty one in its place is another OSD",
        remedy=f"when a working disk is there: ansible-playbook groundup.cloud.storage_replace "
        f"-e replace_machine={node.name} -e replace_osd={number}",
    )


def _fill(node: StorageNode, osd: OsdDaemon, work: Path, number: int) -> None:
    """Create an empty object store. Replace a killed run's unfinished one: its OSD has never run."""
    for path in work.iterdir():
        if path.name not in ("secret", "keyring"):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    block = work / "block"
    if osd.device:
        _refuse_used(node, osd, osd.device)  # again: mkfs of another OSD may have written to it since the check
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
        write_file(work / "ceph_fsid", f"{node.ceph.fsid}\n".encode(), mode=0o644)
