"""A node leaves: its etcd member, from a control host that stays, or all of it, on the node itself."""

from __future__ import annotations

from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from . import volumes
from .api import NodeApiError
from .etcd import Etcd
from .host import NodeHost
from .leave import leave_etcd, reset


def leave(host: NodeHost, given: dict[str, Any], changes: Changes) -> dict[str, Any]:
    """Remove the etcd member or reset the node, and return the module's result. Raises GroundupError, OSError."""
    if not given["member"]:
        if not given["expected_ca"]:
            raise GroundupError(
                f"{host.name} is not reset: nobody said which cluster it may belong to",
                where="options expected_ca and site of module node; cluster.json and kubeconfig of the site",
                why="it may be a node of a cluster that is not this site's",
                remedy="give the site, and restore its state directory if it is lost",
            )
        volumes.refuse(host, given["directories"], given["force"])
        reset(host, changes, expected_ca=given["expected_ca"])
        return changes.result()
    try:
        leave_etcd(given["member"], given["address"], etcd=Etcd(host), contact=host.name, changes=changes)
    except NodeApiError as error:
        raise GroundupError(
            f"etcd cannot be asked for its members: {error}",
            where=f"host {host.name}",
            why="a member is removed by those that stay",
            remedy=f"see crictl ps -a and journalctl -u kubelet on {host.name}",
        ) from error
    return changes.result()
