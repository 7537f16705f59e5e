"""A storage host's OSDs and monitor as the cluster has them, and checks before a verb changes them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._base import consent
from .._base.consent import Reason
from .._base.errors import GroundupError
from .cluster import CephCluster

DRAINED = "groundup/drained/"  # config-key by host: weights of its OSDs before the drain, by number


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """An OSD, as the monitors have it."""

    number: int
    host: str
    device_class: str
    weight: float  # CRUSH weight, in TiB
    state: str  # up, down, destroyed
    groups: int  # number of placement groups
    used: int  # bytes
    size: int  # bytes

    def __str__(self) -> str:
        return f"osd.{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageMember:
    """A storage host."""

    name: str
    osds: Sequence[Daemon]
    others: Sequence[Daemon]  # OSDs of all other hosts
    monitor: bool
    bucket: bool  # whether it has a place in the CRUSH map


def osds(cluster: CephCluster) -> list[Daemon]:
    """Return every OSD of `ceph osd df`, with its host in the CRUSH map, "" without one."""
    hosts = {
        child: str(one["name"])
        for one in cluster.ask("osd tree")["nodes"]
        if one["type"] == "host"
        for child in one["children"]
    }
    return [
        Daemon(
            number=int(one["id"]),
            host=hosts.get(one["id"], ""),
            device_class=str(one.get("device_class", "")),
            weight=float(one["crush_weight"]),
            state=str(one["status"]),
            groups=int(one["pgs"]),
            used=int(one["kb_used"]) * 1024,
            size=int(one["kb"]) * 1024,
        )
        for one in cluster.ask("osd df")["nodes"]
    ]


def member(cluster: CephCluster, name: str) -> StorageMember:
    """Return the OSDs, monitor and CRUSH bucket of the host ``name``."""
    found = osds(cluster)
    return StorageMember(
        name=name,
        osds=[one for one in found if one.host == name],
        others=[one for one in found if one.host != name],
        monitor=any(one["name"] == name for one in cluster.ask("mon dump")["mons"]),
        bucket=name in hosts(cluster),
    )


def told(cluster: CephCluster, name: str) -> dict[str, Any]:
    """Return what the controller must know of the host ``name``."""
    found = member(cluster, name)
    osds_of = [{"number": one.number, "weight": one.weight, "groups": one.groups} for one in found.osds]
    drained = name in records(cluster, DRAINED)
    return {"osds": osds_of, "monitor": found.monitor, "place": found.bucket, "drained": drained}


def hosts(cluster: CephCluster) -> set[str]:
    """Return the hosts of the CRUSH map."""
    return {str(one["name"]) for one in cluster.ask("osd tree")["nodes"] if one["type"] == "host"}


def unsafe(cluster: CephCluster, numbers: Iterable[int]) -> str:
    """Return Ceph's reason why OSDs are not safe to destroy, "" when all copies are elsewhere."""
    ids = [str(number) for number in numbers]
    if not ids:
        return ""
    code, answer, said = cluster.attempt("osd safe-to-destroy", ids=ids)
    if not isinstance(answer, dict):
        return said or f"no answer, code {code}"
    # Only those that Ceph names as safe are: it may have forgotten one.
    left = {*ids} - {str(one) for one in answer.get("safe_to_destroy", ())}
    why = {"active": "in use", "stored_pgs": "with data of their own", "missing_stats": "silent"}
    away = [f"{listed([f'osd.{one}' for one in answer[key]])} {what}" for key, what in why.items() if answer.get(key)]
    return ", ".join(away) or (f"{listed(sorted(f'osd.{one}' for one in left))} not named as safe" if left else "")


def records(cluster: CephCluster, prefix: str) -> dict[str, Any]:
    """Return our config-keys below ``prefix`` with their values, by the rest of the key."""
    return {name.removeprefix(prefix): value for name, value in (cluster.ask("config-key dump", key=prefix)).items()}


def needed(cluster: CephCluster, name: str) -> bool:
    """Return whether monitor ``name`` must be removed before it is stopped.

    Ceph's "Removing a Monitor" stops it first. But when one of two stops while it still counts, the quorum is lost.
    """
    return bool(cluster.attempt("mon ok-to-stop", ids=[name])[0])


def refuse_leftover(cluster: CephCluster, planned: Collection[str], monitors: Mapping[str, str]) -> None:
    """Refuse to go on while unplanned hosts have OSDs or a monitor, or a monitor differs from the planned ones.

    ``monitors``: planned addresses by host. Raises GroundupError.
    """
    watching = {str(one["name"]): _address(one) for one in cluster.ask("mon dump")["mons"]}
    left = sorted(({one.host for one in osds(cluster)} | {*watching}) - {"", *planned})
    if left:
        raise GroundupError(
            f"{listed(left)} left the site file, and the cluster has OSDs or a monitor there",
            where=f"layer storage: {listed(left)}",
            why="nobody would look after their data, and their loss would not be told from a plan",
            remedy="put it back into the site file; or, for good: ansible-playbook groundup.cloud.drain "
            f"-e machine={left[0]}, then groundup.cloud.retire -e machine={left[0]}",
        )
    moved = [name for name, address in watching.items() if monitors.get(name) != address]
    if moved:
        first = moved[0]
        stop = f"on {first}: systemctl disable --now ceph-mon@{first}"
        remove = f"on another monitor's host: ceph mon rm {first}"
        steps = (remove, stop) if needed(cluster, first) else (stop, remove)
        raise GroundupError(
            "the site file has monitors elsewhere than the cluster: "
            + listed([f"{name} at {watching[name]}, planned {monitors.get(name, 'none there')}" for name in moved]),
            where=f"layer storage: {listed(moved)}; ceph mon dump, on a monitor host",
            why="a monitor stays where it is until it is removed: one more makes an even quorum, and clients have its "
            "address written down",
            remedy=f"write networks and addresses as they were, and storage.monitors: [{', '.join(watching)}]; or, one "
            f"after the other, once ceph mon ok-to-rm {first} says that it is safe, {'; '.join(steps)}; on {first}: "
            f"rm -r /var/lib/ceph/mon/ceph-{first} /etc/ceph/ceph.client.admin.keyring; then run this again",
        )


def refuse_erasure(cluster: CephCluster, name: str) -> None:
    """Refuse to erase a machine that has OSDs or a monitor in the cluster. Raises GroundupError.

    A cluster without any OSD is new, or its monitors have lost what they knew: it says nothing of the machine.
    """
    found = member(cluster, name)
    if not (found.osds or found.others):
        raise GroundupError(
            f"the cluster has no OSD at all: it does not say whether {name} has some",
            where=f"machine {name}; ceph osd tree, on a monitor host",
            why="what its disks hold would be lost with them; nothing was changed",
            remedy="see ceph status, on a monitor host; or, if no OSD is on it: add osds to erase_force, or "
            "reprovision_force; then run this again",
        )
    if there := [*map(str, found.osds), *(["a monitor"] if found.monitor else [])]:
        raise GroundupError(
            f"the cluster has {listed(there)} on {name}",
            where=f"machine {name}; ceph osd tree, on a monitor host",
            why="what they hold would be lost with its disks; nothing was changed",
            remedy=f"ansible-playbook groundup.cloud.drain -e machine={name}, then "
            f"groundup.cloud.retire -e machine={name}; or accept that they are lost: add osds to "
            "erase_force, or reprovision_force; then run this again",
        )


def _address(monitor: Mapping[str, Any]) -> str:
    """Return a monitor's IP address, from "10.0.0.1:6789/0"."""
    return str(monitor["public_addr"]).rpartition(":")[0].strip("[]")


def refuse(verb: str, what: str, against: Iterable[Reason], force: Collection[str]) -> None:
    """Raise GroundupError unless ``force`` accepts every reason against ``verb``."""
    consent.refuse(
        verb, what, against, force, where=f"layer storage, {what}",
        why="data would have fewer copies than the plan says, or be lost; nothing was changed",
        first="put that right first (ceph health detail, ceph osd df tree, on a monitor host)",
    )  # fmt: skip


def listed(found: Sequence[object]) -> str:
    """Join names with commas."""
    return ", ".join(str(one) for one in found)
