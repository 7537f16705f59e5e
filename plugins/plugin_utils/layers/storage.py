"""Who runs the storage of a site, and what a Ceph that is the site's own is for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .purposes import Purpose
from .roles import Role

Backend = Literal["none", "native", "cephadm", "rook", "external"]
Volumes = Literal["local", "ceph-rbd", "external"]
Backups = Literal["pool", "objects"]
DeviceClass = Literal["hdd", "ssd", "nvme"]

# Secrets of Ceph's own daemons and of its administrator. Of a manager there is one a host.
MONITORS, ADMIN, BOOTSTRAP, MANAGER = "ceph/mon", "ceph/client.admin", "ceph/client.bootstrap-osd", "ceph/mgr"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendRecord:
    """What follows from a storage backend."""

    what: str
    volumes: Volumes  # what the storage class `general` hands out, unless the site file says otherwise
    layer: str | None = None  # the layer that makes it; it then is Ceph on the site's storage hosts
    clients: bool = False  # whether a layer asks the cluster from control hosts, and others look after its daemons
    orchestrated: bool = False  # whether an orchestrator of Ceph's own or the cluster's is told what to run
    networks: tuple[Purpose, ...] = ("storage",)  # those a site has because of it
    nodes: frozenset[Role] = frozenset()  # roles that are nodes of the cluster because of it
    keys: tuple[str, ...] = ()  # of daemons and administrator that are ours to make; the others it makes itself


BACKENDS: dict[Backend, BackendRecord] = {
    "none": BackendRecord(what="nobody", volumes="local", networks=()),
    # `general` stays local: the cluster has no driver for RBD volumes yet.
    "native": BackendRecord(
        what="Debian's packages and systemd",
        volumes="local",
        layer="storage",
        keys=(MONITORS, ADMIN, BOOTSTRAP, MANAGER),
    ),
    "cephadm": BackendRecord(
        what="cephadm's containers", volumes="ceph-rbd", layer="storage", clients=True, orchestrated=True
    ),
    "rook": BackendRecord(
        what="Rook's pods",
        volumes="ceph-rbd",
        layer="storage",
        clients=True,
        orchestrated=True,
        nodes=frozenset(("storage",)),
        keys=(MONITORS, ADMIN),
    ),
    "external": BackendRecord(what="somebody else", volumes="external", clients=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRecord:
    """What a pool is for."""

    what: str
    share: float  # of the cluster's data that it is expected to hold: its placement groups follow from it
    application: str = "rbd"
    name: str = ""  # the one its service knows it by; "": the purpose, or as the site file says
    service: str | None = None  # only in sites that have it among their services


GATEWAY = "ceph-rgw"  # the service of the object gateway


def _objects(name: str, what: str, *, share: float = 0) -> PoolRecord:
    return PoolRecord(what=what, share=share, application="rgw", name=f"default.rgw.{name}", service=GATEWAY)


POOLS: dict[str, PoolRecord] = {
    "images": PoolRecord(what="Glance's images", share=0.2),
    "volumes": PoolRecord(what="Cinder's volumes", share=0.4),
    "vms": PoolRecord(what="disks of instances that have no volume", share=0.3),
    "backups": PoolRecord(what="Cinder's backups", share=0.1),
    # Those of radosgw's default zone, by its own names. What it does not find it would make by the default rule.
    "objects": _objects("buckets.data", "objects of Swift and S3", share=0.3),
    "objects-index": _objects("buckets.index", "what is in each container", share=0.02),
    "objects-parts": _objects("buckets.non-ec", "parts of uploads that go on"),
    "objects-meta": _objects("meta", "containers and users"),
    "objects-log": _objects("log", "what is to be deleted or expires"),
    "objects-control": _objects("control", "words between gateways"),
    "objects-zone": PoolRecord(what="the zone", share=0, application="rgw", name=".rgw.root", service=GATEWAY),
}
OTHER_POOL = PoolRecord(what="as the site file says", share=0.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRecord:
    """What the key of a service may do: purposes of pools. Anything else is refused to it."""

    what: str
    writes: tuple[str, ...]
    reads: tuple[str, ...] = ()
    service: str | None = None  # only in sites that have it among their services
    images: bool = True  # of disks (RBD) is what it writes


CLIENTS: dict[str, ClientRecord] = {
    "glance": ClientRecord(what="Glance", writes=("images",)),
    # Volumes are clones of images.
    "cinder": ClientRecord(what="Cinder", writes=("volumes",), reads=("images",)),
    # A key of its own: whoever has Cinder's cannot take the backups along with the volumes.
    # Volumes are read and restored with Cinder's, which cinder-backup has beside it.
    "cinder-backup": ClientRecord(what="Cinder's backups", writes=("backups",)),
    # Volumes are attached with Cinder's key: it tells Nova so. Disks are clones of images.
    "nova": ClientRecord(what="Nova's disks of instances", writes=("vms",), reads=("images",)),
    "rgw": ClientRecord(
        what="the object gateways", images=False, service=GATEWAY,
        writes=tuple(purpose for purpose, pool in POOLS.items() if pool.service == GATEWAY),
    ),
}  # fmt: skip
