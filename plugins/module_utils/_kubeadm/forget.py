"""Remove etcd members and Nodes of hosts that are empty now, on a control host that is a member."""

from __future__ import annotations

from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError, OptionError
from .api import NodeApiError
from .etcd import Etcd
from .host import NodeHost
from .stale_members import Empty, remove_stale_members


def empty(parameters: dict[str, Any]) -> list[Empty]:
    """Turn the module's parameters into hosts. Raises OptionError for a field that one of ``hosts`` lacks."""
    try:
        return [
            Empty(
                name=host["name"],
                address=host["address"],
                control="control" in host["roles"],
                half_made=host["name"] in parameters["half_made"],
            )
            for host in parameters["hosts"]
        ]
    except KeyError as error:
        raise OptionError(f"one of the option hosts lacks {error}: give the plan's hosts as they are") from None


def remove(changes: Changes, given: dict[str, Any]) -> None:
    """Remove stale members and Nodes of empty hosts. Raises GroundupError, OptionError."""
    host, server = NodeHost(name=given["name"]), given["api"]
    if not (host.paths.kubernetes / "admin.conf").exists():
        return
    hosts = empty(given)
    try:
        with host.api(server) as api:
            remove_stale_members(hosts, contact=host.name, etcd=Etcd(host), api=api, changes=changes)
    except NodeApiError as error:
        raise GroundupError(
            f"stale etcd members and Nodes of empty hosts cannot be listed: {error}",
            where=f"host {host.name}, its etcd and {server}",
            why="a host that was lost and is made anew cannot join while its old etcd member or Node is there",
            remedy=f"see crictl ps -a and journalctl -u kubelet on {host.name}",
        ) from error
