"""Restrict by source address those ports of OVN's databases that no role protects.

A certificate of OVN's own CA opens them all, and a chassis' those of the southbound database: a server has one set of
CAs for all its ports, and accepts any of their certificates as a member's. So the host filters by address: the raft
ports admit members; the ports with full access admit the cluster's nodes and pods, for northd and Neutron.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .._host.guard import Guard, admit
from .databases import DATABASES

GUARD = Guard(
    table="groundup_ovn",
    what="Who reaches OVN's databases",
    rules=Path("/etc/groundup/ovn-ports.nft"),
    unit=Path("/etc/systemd/system/groundup-ovn-ports.service"),
    hook="input",
    before=tuple(one.unit for one in DATABASES),
)


def rules(*, members: Iterable[str], clients: Iterable[str]) -> str:
    """Return the nftables table. ``clients``: addresses or networks with full access, nodes and pods of the cluster."""
    members = sorted(set(members))
    full = [own.port for one in DATABASES for own in one.listeners if not own.role]
    admitted = [
        *admit(members, ports=[one.raft_port for one in DATABASES]),
        *admit([*members, *clients], ports=full),
    ]
    return GUARD.text(admitted, ports=guarded())


def guarded() -> list[int]:
    """Return the restricted ports."""
    return sorted(
        port for one in DATABASES for port in (one.raft_port, *(own.port for own in one.listeners if not own.role))
    )
