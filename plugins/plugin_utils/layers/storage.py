"""Storage backends, and pools and clients of the site's own Ceph."""

from __future__ import annotations

from dataclasses import dataclass

from ...module_utils._plan.ceph import Backend
from ...module_utils._plan.container import Purpose
from ...module_utils._plan.kubernetes import Volumes
from .roles import Role

# Secrets of Ceph's daemons and its administrator. Each manager host has its own.
MONITORS, ADMIN, BOOTSTRAP, MANAGER = "ceph/mon", "ceph/client.admin", "ceph/client.bootstrap-osd", "ceph/mgr"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendRecord:
    """What follows from a storage backend."""

    what: str
    volumes: Volumes  # backend of the storage class `general`, unless the site file names another
    layer: str | None = None  # layer that deploys Ceph on the site's storage hosts; None: no layer does
    clients: bool = False  # whether a layer queries the cluster from control hosts while others manage its daemons
    orchestrated: bool = False  # whether an orchestrator (cephadm, Rook) deploys the daemons
    networks: tuple[Purpose, ...] = ("storage",)  # networks that a site needs for it
    nodes: frozenset[Role] = frozenset()  # roles that join the Kubernetes cluster because of it
    keys: tuple[str, ...] = ()  # secrets we generate for daemons and administrator; the backend makes the others


BACKENDS: dict[Backend, BackendRecord] = {
    "none": BackendRecord(what="nobody", volumes="local", networks=()),
    # Local unless the site file says ceph-rbd: no pod of its driver was seen running here.
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
    """Purpose and expected size of a pool."""

    what: str
    share: float  # expected share of the cluster's data; decides placement groups
    application: str = "rbd"
    name: str = ""  # fixed name that its service expects; "": the purpose, or as the site file says
    service: str | None = None  # only for sites with this service
    volumes: Volumes | None = None  # only for sites whose storage class `general` has this backend


GATEWAY = "ceph-rgw"  # service name of the object gateway


def _objects(name: str, what: str, *, share: float = 0) -> PoolRecord:
    return PoolRecord(what=what, share=share, application="rgw", name=f"default.rgw.{name}", service=GATEWAY)


POOLS: dict[str, PoolRecord] = {
    "images": PoolRecord(what="Glance's images", share=0.2),
    "volumes": PoolRecord(what="Cinder's volumes", share=0.4),
    "vms": PoolRecord(what="disks of instances that have no volume", share=0.3),
    "backups": PoolRecord(what="Cinder's backups", share=0.1),
    "kubernetes": PoolRecord(what="volumes of the cluster's pods", share=0.05, volumes="ceph-rbd"),
    # Pools of radosgw's default zone, with its names. It would create missing ones with the default CRUSH rule.
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
    """What the key of a service may do, as purposes of pools. Everything else is refused."""

    what: str
    writes: tuple[str, ...]
    reads: tuple[str, ...] = ()
    service: str | None = None  # only for sites with this service
    volumes: Volumes | None = None  # only for sites whose storage class `general` has this backend
    images: bool = True  # whether it writes RBD images
    tasks: bool = True  # whether it may give managers tasks about its images


CLIENTS: dict[str, ClientRecord] = {
    "glance": ClientRecord(what="Glance", writes=("images",)),
    # Volumes are clones of images.
    "cinder": ClientRecord(what="Cinder", writes=("volumes",), reads=("images",)),
    # A separate key: a stolen key of Cinder gives no access to the backups. To read and restore volumes, cinder-backup
    # also has Cinder's key.
    "cinder-backup": ClientRecord(what="Cinder's backups", writes=("backups",)),
    # Volumes are attached with Cinder's key, which Cinder passes to Nova. Disks are cloned from images.
    "nova": ClientRecord(what="Nova's disks of instances", writes=("vms",), reads=("images",)),
    # ceph-csi has a manager remove images, and removes them itself where its key may not ask for that. Debian 13's
    # ceph-mgr (18.2.7, Python 3.13) ends with a segmentation fault in that task.
    "kubernetes": ClientRecord(
        what="the cluster's driver of volumes", writes=("kubernetes",), volumes="ceph-rbd", tasks=False
    ),
    "rgw": ClientRecord(
        what="the object gateways", images=False, service=GATEWAY,
        writes=tuple(purpose for purpose, pool in POOLS.items() if pool.service == GATEWAY),
    ),
}  # fmt: skip
