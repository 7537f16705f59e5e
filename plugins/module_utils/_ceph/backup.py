"""Read what brings a lost monitor store back: maps, keys and configuration of the cluster.

The objects themselves are not read. The store is made again from the OSDs (ceph-objectstore-tool, update-mon-db); it
then lacks keys, configuration and config-keys (keys of encrypted OSDs, say), which are here.
"""

from __future__ import annotations

import base64
import io
import json
import re
import tarfile
from typing import TYPE_CHECKING, Any

from . import model
from .cluster import connected

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._base.changes import Changes

RAW = {"monmap": "mon getmap", "osdmap": "osd getmap", "crushmap": "osd getcrushmap", "auth.keyring": "auth export"}
PARSED = {"config.json": "config dump", "config-key.json": "config-key dump", "osd.json": "osd dump",
          "mon.json": "mon dump", "fs.json": "fs dump", "versions.json": "versions"}  # fmt: skip
_ENTITY = re.compile(rb"^\[([^\]]+)\]", re.MULTILINE)


def take(changes: Changes, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cluster's fsid, and all files as ``content``, a tar archive in base64; in check mode the fsid alone.

    ``given``: the plan's ``ceph``, and the administrator's ``key``. Raises GroundupError.
    """
    with connected(model.ADMIN, given["key"], model.watching(model.plan(given))) as cluster:
        found: dict[str, Any] = {"changed": False, "leader": True, "fsid": str(cluster.ask("mon dump")["fsid"])}
        if changes.check:
            return found
        files = {name: cluster.send(command) for name, command in RAW.items()}
        files |= {name: cluster.send(command, format="json") for name, command in PARSED.items()}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o600
            archive.addfile(info, io.BytesIO(data))
    return found | {"content": base64.b64encode(packed.getvalue()).decode()}


def judge(files: Mapping[str, bytes], *, fsid: str) -> tuple[list[str], dict[str, int]]:
    """Return what the files lack of a cluster, and the number of its keys and OSDs."""
    faults = [f"{name} is missing" for name in (*RAW, *PARSED) if not files.get(name)]
    parsed: dict[str, Any] = {}
    for name in PARSED:
        try:
            parsed[name] = json.loads(files.get(name) or b"null")
        except ValueError as error:
            faults.append(f"{name} is no JSON: {error}")
    mark = bytes.fromhex(fsid.replace("-", ""))
    faults += [f"{name} is of another cluster" for name in ("monmap", "osdmap") if mark not in files.get(name, b"")]
    keys = {entity.decode() for entity in _ENTITY.findall(files.get("auth.keyring", b""))}
    osds = [f"osd.{one['osd']}" for one in (parsed.get("osd.json") or {}).get("osds", ())]
    faults += [f"the key of {entity} is missing" for entity in (model.ADMIN, *osds) if entity not in keys]
    return faults, {"keys": len(keys), "osds": len(osds)}
