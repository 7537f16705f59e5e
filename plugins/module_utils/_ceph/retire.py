"""Retire a storage host: remove its OSDs, monitor, manager's key and CRUSH bucket from the cluster."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

from .._base.changes import Changes
from .._base.consent import Reason
from .._base.errors import GroundupError
from .._base.files import read, remove, write_file
from .._host import units
from . import devices, disk, drain, gateway, health, members
from .cluster import CephCluster
from .members import DRAINED, StorageMember, listed
from .model import ADMIN, CONF, ETC, LIB

LOST = "lost"  # consent: give up the host's data
GIVEN_UP = "groundup-retired"  # in the directory of an OSD that is being taken out of the cluster
DOWN = 60.0  # seconds for stopped OSDs to be marked down


def retire(cluster: CephCluster, changes: Changes, name: str, *, fsid: str, here: bool, force: Collection[str]) -> None:
    """Remove ``name`` from the cluster; ``here``, on that host, its daemons and data, too. Raises GroundupError."""
    found, done = members.member(cluster, name), len(changes.done)
    members.refuse(
        "retire", name, [*(_strange(found, fsid) if here else ()), *_against(cluster, found, here=here)], force
    )
    needed = found.monitor and members.needed(cluster, name)
    if needed:
        _unwatch(cluster, changes, found)
    if here:
        if not changes.check and cluster.ask("mgr stat")["active_name"] == name:
            cluster.send("mgr fail", who=name)  # the standby takes over at once, not after a timeout
        units.off(changes, _units(fsid))
    if here and not changes.check:
        for one in _osds(fsid):  # a killed run goes on without a question
            write_file(one / GIVEN_UP, b"", mode=0o600)
    if found.osds and not changes.check:
        health.wait(lambda: _up(cluster, name), f"OSDs of {name} do not stop", timeout=DOWN)
    _remove(cluster, changes, found, unwatched=needed)
    if here:
        _forget(changes, fsid)
    elif len(changes.done) == done:
        raise GroundupError(
            f"the cluster knows nothing of {name}",
            where="the variable machine; ceph osd tree, on a monitor host",
            why="it left before, or is called otherwise; nothing was changed",
            remedy=f"-e machine=NAME, one of {listed(sorted(members.hosts(cluster)))}",
        )


def _against(cluster: CephCluster, found: StorageMember, *, here: bool) -> Iterator[Reason]:
    up = [one for one in found.osds if one.state == "up"]
    if up and not here:
        yield Reason(text=f"the host cannot be reached, and still running: {listed(up)}")
    numbers = [one.number for one in found.osds if one.state != "destroyed"]
    if up and members.unsafe(cluster, numbers):  # also after an unfinished drain
        yield Reason(text=f"data on {listed(up)}: first ansible-playbook groundup.cloud.drain -e machine={found.name}")
    elif numbers and (why := drain.undrained(cluster, numbers)):
        inactive = health.inactive(cluster)
        yield Reason(
            text=f"{why}{f'; {inactive}: the only copies may be here' if inactive else ''}",
            code=None if inactive else LOST,
        )
    if found.monitor:
        code, _, said = cluster.attempt("mon ok-to-rm", id=found.name)
        if code:
            yield Reason(text=f"its monitor is needed: {said}")


def _strange(found: StorageMember, fsid: str) -> Iterator[Reason]:
    """Yield OSDs with data on this host that the cluster has on another one, or lacks, as with restored monitors."""
    local = {int(one.name.removeprefix("ceph-")): one for one in _osds(fsid)}
    if others := [one for one in found.others if one.number in local]:
        yield Reason(text=f"its disks have {listed(others)}, which the cluster has on another host")
    known = {one.number for one in (*found.osds, *found.others)}
    if lost := [
        f"osd.{number}" for number, at in local.items() if number not in known and not (at / GIVEN_UP).exists()
    ]:
        yield Reason(text=f"its disks have {listed(lost)}, which the cluster does not know", code=LOST)


def _up(cluster: CephCluster, name: str) -> str:
    return listed([one for one in members.member(cluster, name).osds if one.state == "up"])


def _unwatch(cluster: CephCluster, changes: Changes, found: StorageMember) -> None:
    if found.monitor and changes.add(f"remove monitor {found.name} from the quorum"):
        cluster.send("mon rm", name=found.name)


def _remove(cluster: CephCluster, changes: Changes, found: StorageMember, *, unwatched: bool) -> None:
    for one in found.osds:
        if changes.add(f"remove {one} from the cluster"):
            cluster.manage("osd purge", id=one.number, force=True, yes_i_really_mean_it=True)
    if not unwatched:
        _unwatch(cluster, changes, found)
    if found.bucket and changes.add(f"remove the place of {found.name} from the CRUSH map"):
        cluster.send("osd crush rm", name=found.name)
    manager = f"mgr.{found.name}"
    known = {one["entity"] for one in cluster.ask("auth ls")["auth_dump"]}
    if manager in known and changes.add(f"remove the key of {manager}"):
        cluster.send("auth rm", entity=manager)
    if found.name in members.records(cluster, DRAINED) and not changes.check:
        cluster.send("config-key rm", key=f"{DRAINED}{found.name}")


def _units(fsid: str) -> list[str]:
    """Return the units of the cluster's daemons on this host."""
    return [f"ceph-{one.parent.name}@{one.name.removeprefix('ceph-')}.service" for one in _data(fsid)]


def _data(fsid: str) -> list[Path]:
    """Return the data directories of the cluster's daemons on this host. A manager's has no id: ceph.conf decides."""
    monitors = [one for one in sorted((LIB / "mon").glob("ceph-*")) if (read(one / disk.FSID) or "").strip() == fsid]
    managers = sorted((LIB / "mgr").glob("ceph-*")) if disk.written() == fsid else ()
    return [*_osds(fsid), *monitors, *managers]


def _osds(fsid: str) -> list[Path]:
    return [one for one in sorted(disk.OSDS.glob("ceph-*")) if (read(one / "ceph_fsid") or "").strip() == fsid]


def _forget(changes: Changes, fsid: str) -> None:
    """Remove data, keys and configuration, ceph.conf last. Devices keep their label, which prevents their reuse."""
    for one in _data(fsid):
        block = one / "block"
        if block.is_symlink():
            changes.warnings.append(
                f"{block.readlink()} still has the label of {one.name.replace('ceph-', 'osd.')}: before another use "
                f"{devices.zap(str(block.readlink()))}"
            )
        if one.parent == disk.OSDS:
            remove(changes, disk.drop_in(int(one.name.removeprefix("ceph-"))))
        if changes.add(f"remove {one}"):
            shutil.rmtree(one)
    if disk.written() not in ("", fsid):
        return  # ceph.conf is another cluster's
    gateway.leave(changes)
    for path in (ETC / f"ceph.{ADMIN}.keyring", CONF):
        if path.exists() and changes.add(f"remove {path}"):
            path.unlink()
