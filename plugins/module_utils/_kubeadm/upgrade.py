"""What an upgrade of Kubernetes would meet on a host."""

from __future__ import annotations

import shutil
from typing import Any

from .._base.changes import Changes
from .api import NodeApiError
from .etcd import Etcd
from .host import NodeHost

_IMAGES = "/var/lib/containerd"


def look(_: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Return room for images in bytes, and of a control host, whether each member of its etcd is healthy."""
    return room(NodeHost(name=given["name"]))


def room(host: NodeHost) -> dict[str, Any]:
    """Return the step's result for ``host``. Raises GroundupError, OSError."""
    found: dict[str, Any] = {"changed": False, "room": shutil.disk_usage(host.paths.at(_IMAGES)).free, "etcd": {}}
    if (host.paths.etcd / "member").exists():
        try:
            etcd = Etcd(host)
            found["etcd"] = {member.name or member.id: etcd.healthy(member) for member in etcd.members()}
        except NodeApiError:
            found["etcd"] = {host.name: False}
    return found
