"""What the cluster has of a storage host, in its own words, and which consent a verb on it needs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._base import consent
from .._base.consent import Reason
from .._base.errors import GroundupError
from .cluster import Cluster

DRAINED = "groundup/drained/"  # config-key: weights of the OSDs of a drained host, by number


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """An OSD, as the monitors know it."""

    number: int
    host: str
    device_class: str
    weight: float  # in the CRUSH map: TiB
    state: str  # up, down, destroyed
    groups: int  # placement groups
    used: int  # bytes
    size: int

    def __str__(self) -> str:
        """Return what Ceph calls it."""
        return f"osd.{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A storage host."""

    name: str
    osds: Sequence[Daemon]
    others: Sequence[Daemon]  # OSDs of all other hosts
    monitor: bool
    bucket: bool  # whether it has a place in the CRUSH map


def osds(cluster: Cluster) -> list[Daemon]:
    """Return every OSD that has a place in the CRUSH map."""
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


def member(cluster: Cluster, name: str) -> Member:
    """Return what the cluster has of ``name``."""
    found = osds(cluster)
    return Member(
        name=name,
        osds=[one for one in found if one.host == name],
        others=[one for one in found if one.host != name],
        monitor=any(one["name"] == name for one in cluster.ask("mon dump")["mons"]),
        bucket=name in hosts(cluster),
    )


def hosts(cluster: Cluster) -> set[str]:
    """Return the hosts of the CRUSH map."""
    return {str(one["name"]) for one in cluster.ask("osd tree")["nodes"] if one["type"] == "host"}


def unsafe(cluster: Cluster, numbers: Iterable[int]) -> str:
    """Return Ceph's own reason why OSDs are not safe to destroy, "" when all copies are elsewhere."""
    ids = [str(number) for number in numbers]
    if not ids:
        return ""
    code, answer, said = cluster.attempt("osd safe-to-destroy", ids=ids)
    if answer is None:
        return (said or f"error {code}") if code else ""
    why = {"active": "in use", "stored_pgs": "with data of their own", "missing_stats": "silent"}
    away = (f"{listed([f'osd.{one}' for one in answer[key]])} {what}" for key, what in why.items() if answer.get(key))
    return ", ".join(away)


def records(cluster: Cluster, prefix: str) -> dict[str, Any]:
    """Return what runs of ours keep in the monitors below ``prefix``, by what follows it."""
    return {name.removeprefix(prefix): value for name, value in (cluster.ask("config-key dump", key=prefix)).items()}


def needed(cluster: Cluster, name: str) -> bool:
    """Say whether monitor ``name`` is removed before it is stopped.

    Ceph's "Removing a Monitor" stops it first; but the others may have no quorum while it still counts (of two, one).
    """
    return bool(cluster.attempt("mon ok-to-stop", ids=[name])[0])


def refuse_leftover(cluster: Cluster, planned: Collection[str], monitors: Mapping[str, str]) -> None:
    """Refuse to go on while hosts that are not ``planned`` hold data, or watch where no ``monitors`` are planned.

    ``monitors``: addresses by host. Raises GroundupError.
    """
    watching = {str(one["name"]): _address(one) for one in cluster.ask("mon dump")["mons"]}
    left = sorted(({one.host for one in osds(cluster)} | {*watching}) - {"", *planned})
    if left:
        raise GroundupError(
            f"{listed(left)} left the site file, and the cluster has OSDs or a monitor there",
            where=f"layer storage: {listed(left)}",
            why="nobody would look after their data, and their loss would not be told from a plan",
            remedy="put it back into the site file; or, for good: ansible-playbook groundup.cloud.storage_drain "
            f"-e drain_machine={left[0]}, then groundup.cloud.storage_retire -e retire_machine={left[0]}",
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


def refuse_erasure(cluster: Cluster, name: str) -> None:
    """Refuse the erasure of a machine that the cluster has OSDs or a monitor on. Raises GroundupError."""
    found = member(cluster, name)
    if there := [*map(str, found.osds), *(["a monitor"] if found.monitor else [])]:
        raise GroundupError(
            f"the cluster has {listed(there)} on {name}",
            where=f"machine {name}, which is not in the site file",
            why="what they hold would be lost with its disks; nothing was changed",
            remedy=f"ansible-playbook groundup.cloud.storage_drain -e drain_machine={name}, then "
            f"groundup.cloud.storage_retire -e retire_machine={name}; or accept that they are lost: "
            "-e '{\"erase_force\": [disks, osds]}'; then run this again",
        )


def _address(monitor: Mapping[str, Any]) -> str:
    """Return a monitor's address, of "10.0.0.1:6789/0"."""
    return str(monitor["public_addr"]).rpartition(":")[0].strip("[]")


def refuse(verb: str, what: str, against: Iterable[Reason], force: Collection[str]) -> None:
    """Raise GroundupError while a reason stands against ``verb`` that ``force`` does not accept."""
    consent.refuse(
        verb, what, against, force, where=f"layer storage, {what}",
        why="data would have fewer copies than the plan says, or be lost; nothing was changed",
        first="put that right first (ceph health detail, ceph osd df tree, on a monitor host)",
    )  # fmt: skip


def listed(found: Sequence[object]) -> str:
    """Return names in a line."""
    return ", ".join(str(one) for one in found)
