"""Desired state of a storage host, from the plan (``groundup_site.ceph``)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from .._plan.ceph import CephOsd, CephPlan
from .._plan.decode import from_dict

Step = Literal["maintain", "monitor", "daemons", "restart"]

ETC = Path("/etc/ceph")
CONF = ETC / "ceph.conf"
LIB = Path("/var/lib/ceph")
USER = "ceph"
ADMIN = "client.admin"
BOOTSTRAP = "client.bootstrap-osd"


@dataclass(frozen=True, slots=True, kw_only=True)
class OsdDaemon(CephOsd):
    """An OSD of this host."""

    uuid: str  # derived from cluster, host and name: the same in every run


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageNode:
    """A storage host."""

    ceph: CephPlan
    name: str
    osds: tuple[OsdDaemon, ...]
    packages: Sequence[str]
    keys: Mapping[str, str] = field(repr=False)  # by entity: "mon.", "client.admin", "mgr.storage-1"

    @property
    def monitors(self) -> dict[str, str]:
        """Return the monitors' addresses, by host."""
        return watching(self.ceph)

    @property
    def address(self) -> str:
        """Return the address of this host's monitor, "" where it has none."""
        return self.monitors.get(self.name, "")

    @property
    def store(self) -> Path:
        """Return the directory of the monitor's data."""
        return LIB / f"mon/ceph-{self.name}"


def plan(given: Mapping[str, Any]) -> CephPlan:
    """Return the plan of a module's options. Raises OptionError for a missing field."""
    return from_dict(CephPlan, given["ceph"], "options.ceph")


def node(given: Mapping[str, Any]) -> StorageNode:
    """Parse a module's options into a storage host. Raises OptionError for a missing field."""
    ceph, name = plan(given), given["name"]
    return StorageNode(
        ceph=ceph,
        name=name,
        osds=tuple(osd(ceph.fsid, name, one) for one in ceph.osds.get(given["hardware"], ())),
        packages=given["packages"],
        keys=entities(given["keys"]),
    )


def watching(ceph: CephPlan) -> dict[str, str]:
    """Return the monitors' addresses, by host."""
    return {one.name: one.address for one in ceph.monitors}


def rights(ceph: CephPlan) -> dict[str, dict[str, str]]:
    """Return the capabilities of services' keys, by entity."""
    return {one.name: one.caps for one in ceph.clients.values()}


def entities(keys: Mapping[str, str]) -> dict[str, str]:
    """Return keys by entity, from keys by secret name ("ceph/mon", "ceph/client.glance")."""
    named = {name.removeprefix("ceph/"): key for name, key in keys.items()}
    return {"mon." if name == "mon" else name: key for name, key in named.items()}


def osd(fsid: str, host: str, planned: CephOsd) -> OsdDaemon:
    return OsdDaemon(uuid=str(uuid.uuid5(uuid.UUID(fsid), f"{host}/{planned.name}")), **asdict(planned))
