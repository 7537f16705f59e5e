"""Who runs the storage of a site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .purposes import Purpose
from .roles import Role

Backend = Literal["none", "cephadm", "rook", "external"]
Volumes = Literal["local", "ceph-rbd", "external"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendRecord:
    """What follows from a storage backend."""

    volumes: Volumes  # what the storage class `general` hands out, unless the site file says otherwise
    layer: str | None = None  # the layer that makes it; it then is Ceph on the site's storage hosts
    networks: tuple[Purpose, ...] = ("storage",)  # those a site has because of it
    nodes: frozenset[Role] = frozenset()  # roles that are nodes of the cluster because of it


BACKENDS: dict[Backend, BackendRecord] = {
    "none": BackendRecord(volumes="local", networks=()),
    "cephadm": BackendRecord(volumes="ceph-rbd", layer="storage"),
    "rook": BackendRecord(volumes="ceph-rbd", layer="storage", nodes=frozenset(("storage",))),
    "external": BackendRecord(volumes="external"),
}
