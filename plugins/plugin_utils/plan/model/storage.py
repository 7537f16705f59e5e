"""Storage in the site file: who runs Ceph, and its pools."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ....module_utils._plan.ceph import Backend, Backups, DeviceClass
from ....module_utils._plan.kubernetes import Volumes
from ...layers.storage import BACKENDS
from ..types import FailureDomain
from .base import Address, Model

CephOption = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9_]{1,80}$", json_schema_extra={"examples": ["osd_max_backfills"]})
]
# It goes into the rights of keys, where a space or comma ends it, and into names of images, where / and @ do. With a
# dot begin those that Ceph makes for itself.
PoolName = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$", json_schema_extra={"examples": ["cloud-images"]})
]
CephUser = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$", json_schema_extra={"examples": ["cloud-glance"]})
]
Monitors = Annotated[int, Field(ge=1, le=9)] | Annotated[list[str], Field(min_length=1, max_length=9)]
CephValue = Annotated[str, Field(pattern=r"^[!-~]( ?[!-~]){0,200}$")]


class Pool(Model):
    """One pool of the storage cluster."""

    replicas: Annotated[int, Field(ge=1, le=10)] | None = Field(
        None, description="Copies of each object. Default: storage.replicas."
    )
    failure_domain: FailureDomain | None = Field(None, description="Default: storage.failure_domain.")
    device_class: DeviceClass | None = Field(
        None, description="Kind of device that holds it. Default: the fastest on the storage hosts."
    )
    name: PoolName | None = Field(None, description="Name of the pool. Default: its purpose.")


class ExternalCeph(Model):
    """A Ceph cluster run by others. Its keys are in the secrets store."""

    fsid: Annotated[
        str,
        Field(
            pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
            json_schema_extra={"examples": ["5f1c0a3e-93f4-4b0e-8f0e-0a4d2f1f7c11"]},
        ),
    ] = Field(description="Id of the cluster (`ceph fsid`). A cluster with another id is refused.")
    monitors: list[Address] = Field(min_length=1, description="Addresses of all its monitors.")
    clients: dict[str, CephUser] = Field(
        default_factory=dict,
        description="Ceph user of each client: glance, cinder, cinder-backup, nova or kubernetes. Default: the "
        "client's own name.",
    )
    make: bool = Field(
        False,
        description="Whether the layer creates missing pools and users, with the administrator's key of the secrets "
        "store (ceph/client.admin). If false, the cluster's operator creates them, and the layer verifies.",
    )


class Storage(Model):
    """Block, object and file storage of the cloud, and persistent volumes of the control plane."""

    backend: Backend = Field(
        "none",
        description=f"Who runs Ceph. {'; '.join(f'{name}: {record.what}' for name, record in BACKENDS.items())}.",
    )
    volumes: Volumes | None = Field(
        None,
        description="Backend of the storage class `general`. local: directories of nodes; ceph-rbd: images in Ceph, by "
        "ceph-csi; external: a class that is there. Default: ceph-rbd with cephadm or rook, external with external, "
        "else local.",
    )
    replicas: Annotated[int, Field(ge=1, le=10)] = Field(3, description="Copies of each object.")
    failure_domain: FailureDomain | None = Field(None, description="No two copies share one. Default: the profile's.")
    monitors: Monitors | None = Field(
        None,
        description="MON daemons: their number, spread over racks; or the names of their hosts, which do not change "
        "when a rack is added. Default: 3, or fewer with fewer storage hosts.",
    )
    pools: dict[PoolName, Pool] = Field(
        default_factory=dict, description="Pools by purpose. Default: one per purpose (volumes, images, vms, ...)."
    )
    external: ExternalCeph | None = Field(
        None, description="external: the cluster. Default: only its storage class `general` is used."
    )
    backups: Backups = Field(
        "pool", description="Where Cinder's backups are: in a pool of their own, or in the object store (ceph-rgw)."
    )
    settings: dict[CephOption, CephValue] = Field(
        default_factory=dict, description="native: further options for ceph.conf, section global, over the profile's."
    )

    @property
    def general(self) -> Volumes:
        """Return the backend of the storage class `general`: as written, else the storage backend's."""
        return self.volumes or BACKENDS[self.backend].volumes
