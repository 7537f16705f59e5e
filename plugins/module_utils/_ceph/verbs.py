"""Verbs on a storage host: Ceph is asked before anything is removed, and what is needed goes with consent alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from . import drain, flags, maintenance, members, replace, retire
from .cluster import CephCluster, connected
from .model import ADMIN, entities, node, plan, watching
from .watchers import watchers


def run(verb: str, changes: Changes, given: dict[str, Any]) -> dict[str, Any] | None:
    """Run ``verb``: drain, undrain, rest, rise, retire, replace, erase; member, images and watchers return them.

    Raises GroundupError.
    """
    name, ceph, force, timeout = given["name"], plan(given), given["force"], given["timeout"]
    if not name:
        raise GroundupError(
            "no machine is named",
            where="the variable replace_machine" if verb == "replace" else "the variable machine",
            why=f"{verb} takes one storage host at a time",
            remedy="-e replace_machine=NAME" if verb == "replace" else "-e machine=NAME",
        )
    if verb == "replace" and name not in ceph.locations:
        raise GroundupError(
            f"{name} is no storage host of this site",
            where="the variable replace_machine",
            why="an OSD is made anew as the site file says",
            remedy=f"-e replace_machine=NAME, one of {', '.join(ceph.locations)}",
        )
    with connected(ADMIN, entities(given["keys"])[ADMIN], watching(ceph)) as cluster:
        reads: dict[str, Callable[[], Any]] = {
            "member": lambda: members.told(cluster, name),
            "images": lambda: images(cluster, given["pool"]),
            "watchers": lambda: watchers(cluster, given["disks"]),
        }
        if verb in reads:
            return {"changed": False, verb: reads[verb]()}
        if verb == "rest":
            maintenance.rest(cluster, changes, name, monitors=watching(ceph))
            return None
        if verb == "rise":
            maintenance.rise(cluster, changes, name, monitors=watching(ceph), timeout=timeout)
            return None
        if verb != "erase":
            flags.put_back(cluster, changes)  # a run of the layer may be refused until this verb has run
        if verb == "drain":
            drain.drain(cluster, changes, name, ceph=ceph, timeout=timeout)
        elif verb == "undrain":
            drain.undrain(cluster, changes, name, timeout=timeout)
        elif verb == "retire":
            retire.retire(cluster, changes, name, fsid=ceph.fsid, here=given["here"], force=force)
        elif verb == "erase":
            members.refuse_erasure(cluster, name)
        else:
            replace.give_up(cluster, changes, node({**given, "packages": []}), given["osd"], force=force)
    return None


def images(cluster: CephCluster, pool: str) -> list[str]:
    """Return the names of the images in ``pool``. Raises GroundupError."""
    import rados  # type: ignore[import-not-found]  # of the host: a package of this layer brings both
    import rbd  # type: ignore[import-not-found]

    try:
        with cluster.handle.open_ioctx(pool) as data:
            return sorted(rbd.RBD().list(data))
    except (rados.Error, rbd.Error) as error:
        raise GroundupError(
            f"the images in pool {pool} cannot be listed: {error}",
            where=f"rbd ls {pool}",
            why="which disks are there is not known",
            remedy="ceph status and ceph osd pool ls, on a monitor host",
        ) from None
