"""Replace an OSD whose disk is lost. It keeps its number, so that only its own data move."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator

from .._base.changes import Changes
from .._base.consent import Reason
from .._base.errors import GroundupError
from .._base.wait import wait_until
from .._host import units
from . import devices, disk, drain, health, members
from .cluster import CephCluster
from .members import Daemon
from .model import OsdDaemon, StorageNode

COPY = "copy"  # consent: give up the copy on the disk
SETTLES = 30.0  # seconds for placement groups to notice a lost OSD


def find(cluster: CephCluster, host: str, number: int) -> Daemon:
    """Return OSD ``number`` of ``host``. Raises GroundupError when there is none."""
    found = next((one for one in members.osds(cluster) if (one.number, one.host) == (number, host)), None)
    if found is None:
        raise GroundupError(
            f"{host} has no osd.{number}",
            where="the variables replace_machine and replace_osd",
            why="one OSD is replaced at a time, by its number",
            remedy="ceph osd tree, on a monitor host; -e replace_osd=7 is osd.7. A disk that never had an OSD needs "
            "none of this: the playbook groundup.cloud.storage",
        )
    return found


def give_up(cluster: CephCluster, changes: Changes, node: StorageNode, number: int, *, force: Collection[str]) -> None:
    """Destroy OSD ``number`` of this host in the cluster, so that the next run creates it again.

    Raises GroundupError, before any change, while its copies may be needed and ``force`` does not accept their loss.
    """
    found = find(cluster, node.name, number)
    there = found.state != "destroyed"  # destroyed: a killed run came this far
    if there:
        planned = _planned(cluster, node, number)
        if not changes.check:
            wait_until(lambda: health.inactive(cluster), timeout=SETTLES)  # it may have failed a moment ago
        members.refuse("replace", str(found), _against(cluster, node, found, planned), force)
    units.off(changes, [f"ceph-osd@{number}.service"])
    if there and changes.add(f"destroy {found}: what it held is copied from others"):
        health.wait(
            lambda: "it runs" if find(cluster, node.name, number).state == "up" else "",
            f"{found} does not stop",
            timeout=60,
        )
        cluster.manage("osd destroy", id=number, force=True, yes_i_really_mean_it=True)
    place = disk.OSDS / f"ceph-{number}"
    if place.exists() and changes.add(f"remove {place}"):
        shutil.rmtree(place)


def number_of(cluster: CephCluster, host: str, uuid: str) -> int | None:
    """Return the number of a destroyed OSD of ``host`` for the new one ``uuid``, None when it needs or finds none."""
    dump = cluster.ask("osd dump")["osds"]
    if any(one["uuid"] == uuid for one in dump):
        return None  # registered: the monitors find its number by its id
    tree = cluster.ask("osd tree")["nodes"]
    own = next((one["children"] for one in tree if one["type"] == "host" and one["name"] == host), ())
    return min((one["id"] for one in tree if one["id"] in own and one["status"] == "destroyed"), default=None)


def _planned(cluster: CephCluster, node: StorageNode, number: int) -> OsdDaemon | None:
    ids = {one["osd"]: one["uuid"] for one in cluster.ask("osd dump")["osds"]}
    return next((one for one in node.osds if one.uuid == ids.get(number)), None)


def _against(cluster: CephCluster, node: StorageNode, found: Daemon, planned: OsdDaemon | None) -> Iterator[Reason]:
    if planned is None:
        yield Reason(text=f"it is no OSD that the site file gives {node.name}: it would not be made anew")
        return
    if found.state == "up" and found.weight and (copied := health.recovering(cluster)):
        yield Reason(text=f"it runs, and copies are being made ({copied}): wait until they are; it may be new")
        return
    yield from _misplaced(cluster, node, planned)
    safe = not drain.undrained(cluster, [found.number])
    if found.state != "up" and (inactive := health.inactive(cluster)):
        yield Reason(text=f"{inactive}: the only copies may be on it")
    elif not safe and (found.state == "up" or holds(planned, found.number)):
        code, _, said = cluster.attempt("osd ok-to-stop", ids=[str(found.number)])
        if code:
            yield Reason(text=f"Ceph cannot do without it: {said}")
        yield Reason(text="its disk has the OSD's data, and not all of them have their copies elsewhere", code=COPY)


def _misplaced(cluster: CephCluster, node: StorageNode, planned: OsdDaemon) -> Iterator[Reason]:
    """Yield OSD disks that are in each other's places: their data are intact."""
    names = {one["uuid"]: f"osd.{one['osd']}" for one in cluster.ask("osd dump")["osds"]}
    others = [names[one] for one in _readable(planned.device) if one in names and one != planned.uuid]
    if others:
        yield Reason(text=f"{planned.device} is its place, and the disk of {others[0]} is there: put each disk back")
    for one in node.osds:
        if one != planned and planned.uuid in _readable(one.device):
            place = f"{one.device}, the place of {names.get(one.uuid, 'another OSD')}"
            yield Reason(text=f"its disk, with its data, is at {place}: put it back", code=COPY)


def _readable(device: str | None) -> list[str]:
    """Return the OSD ids on ``device``, [] when it cannot be read."""
    try:
        return devices.labels(device) if device else []
    except OSError:
        return []


def holds(osd: OsdDaemon, number: int) -> bool:
    """Return whether the OSD's directory exists, and its device, if any, has its label."""
    place = disk.OSDS / f"ceph-{number}"
    if not (place / "fsid").exists():
        return False
    return not osd.device or osd.uuid in _readable(osd.device)
