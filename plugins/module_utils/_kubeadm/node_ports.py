"""Admit only control hosts, whose HAProxy serves the public names, to the node ports behind those names.

Else everybody on the management network reaches the services without TLS, without the edge's rate limits, and with
headers of his own (``X-Forwarded-For``) that the services believe.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from .._base.changes import Changes
from .._host.guard import Guard, admit
from .._host.units import MARKS
from .spec import Node, Paths

GUARD = Guard(
    table="groundup_node_ports",
    what="Who reaches the node ports behind the public names",
    rules=Path("/etc/groundup/node-ports.nft"),
    unit=Path("/etc/systemd/system/groundup-node-ports.service"),
    hook="prerouting",
    before=("kubelet.service",),
)


def close(node: Node, paths: Paths, changes: Changes) -> None:
    """Load the rules on a node, which has all ports of the plan on all its addresses. Raises GroundupError."""
    ports, control = node.cluster.edge_ports, node.cluster.control_addresses
    here = replace(GUARD, rules=paths.at(str(GUARD.rules)), unit=paths.at(str(GUARD.unit)))
    if ports or here.rules.exists():  # a service that was removed leaves no rule behind
        wanted = here.text([*admit(control, ports=ports)] if ports else [], ports=ports)
        here.converge(changes, wanted, marks=paths.at(str(MARKS)))
