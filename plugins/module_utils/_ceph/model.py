"""Desired state of a storage host, parsed from the plan (``groundup_site.ceph``)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Step = Literal["maintain", "monitor", "daemons", "restart"]

ETC = Path("/etc/ceph")
CONF = ETC / "ceph.conf"
LIB = Path("/var/lib/ceph")
USER = "ceph"
ADMIN = "client.admin"
BOOTSTRAP = "client.bootstrap-osd"


@dataclass(frozen=True, slots=True, kw_only=True)
class OsdDaemon:
    """An OSD of this host."""

    name: str
    device: str | None  # None: a file
    size_gb: int | None
    device_class: str
    memory: int
    uuid: str  # derived from cluster, host and name: the same in every run


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageNode:
    """A storage host."""

    fsid: str
    release: int
    name: str
    public_network: str
    monitors: Mapping[str, str]  # host -> address
    managers: Sequence[str]
    location: Mapping[str, str]
    hosts: Sequence[str]  # all storage hosts of the plan
    osds: Sequence[OsdDaemon]
    packages: Sequence[str]
    settings: Mapping[str, str]
    replicas: int
    gateway: bool  # whether the site has an object store
    keys: Mapping[str, str] = field(repr=False)  # by entity: "mon.", "client.admin", "mgr.storage-1"
    caps: Mapping[str, Mapping[str, str]]  # of services, by entity

    @property
    def address(self) -> str:
        """Return the address of this host's monitor, "" where it has none."""
        return self.monitors.get(self.name, "")

    @property
    def store(self) -> Path:
        """Return the directory of the monitor's data."""
        return LIB / f"mon/ceph-{self.name}"


def node(given: Mapping[str, Any]) -> StorageNode:
    """Parse a module's options into a storage host."""
    ceph, name = given["ceph"], given["name"]
    return StorageNode(
        fsid=ceph["fsid"],
        release=ceph["release"],
        name=name,
        public_network=ceph["public_network"],
        monitors=watching(ceph),
        managers=ceph["managers"],
        location=ceph["locations"][name],
        hosts=list(ceph["locations"]),
        osds=[osd(ceph["fsid"], name, one) for one in ceph["osds"].get(given["hardware"], ())],
        packages=given["packages"],
        settings=ceph["settings"],
        replicas=max(pool["replicas"] for pool in ceph["pools"].values()),
        gateway=ceph["gateway"] is not None,
        keys=entities(given["keys"]),
        caps={one["name"]: one["caps"] for one in ceph["clients"].values()},
    )


def watching(ceph: Mapping[str, Any]) -> dict[str, str]:
    """Return the monitors' addresses, by host."""
    return {one["name"]: one["address"] for one in ceph["monitors"]}


def entities(keys: Mapping[str, str]) -> dict[str, str]:
    """Return keys by entity, from keys by secret name ("ceph/mon", "ceph/client.glance")."""
    named = {name.removeprefix("ceph/"): key for name, key in keys.items()}
    return {"mon." if name == "mon" else name: key for name, key in named.items()}


def osd(fsid: str, host: str, plan: Mapping[str, Any]) -> OsdDaemon:
    """Return one planned OSD of ``host``."""
    own = str(uuid.uuid5(uuid.UUID(fsid), f"{host}/{plan['name']}"))
    fields = ("name", "device", "size_gb", "device_class", "memory")
    return OsdDaemon(uuid=own, **{name: plan[name] for name in fields})
