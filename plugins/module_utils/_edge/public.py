"""The users' side of a control host, on a network of its own: nothing but port 443 of the public virtual IP.

The host listens on more (sshd, kubelet, OVN's databases, node ports), and forwards packets of pods. So what comes in by
that network is dropped before any address is rewritten or any packet is forwarded, whatever its destination.
"""

from __future__ import annotations

import hashlib
import json
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.run import run
from .._host.guard import Guard
from .._host.interfaces import interface_of

GUARD = Guard(
    table="groundup_public",
    what="What users reach on the public network",
    rules=Path("/etc/groundup/public.nft"),
    unit=Path("/etc/systemd/system/groundup-public.service"),
    hook="prerouting",
    before=("keepalived.service",),
)
HTTPS = 443
_ICMP = "{ echo-request, destination-unreachable, time-exceeded, parameter-problem }"


def rules(interface: str, address: str) -> str:
    """Return the nftables table for the public virtual IP ``address`` and the host's ``interface`` on its network."""
    lines = [
        "type filter hook prerouting priority mangle; policy accept;",
        "iif lo accept",
        "ct state established,related accept",
        f"ip daddr {address} tcp dport {HTTPS} accept",
        # Path MTU discovery, and whether it is there.
        f'iifname "{interface}" fib daddr type local icmp type {_ICMP} accept',
        f"ip daddr {address} icmp type {_ICMP} accept",
        f"ip daddr {address} drop",
    ]
    digest = hashlib.sha256("\n".join([*lines, interface]).encode()).hexdigest()[:16]
    lines.append(f'iifname "{interface}" drop comment "{digest}"')
    body = "\n".join(f"    {line}" for line in lines)
    afresh = f"table inet {GUARD.table}\ndelete table inet {GUARD.table}\n"  # replaces it, whether it existed or not
    return (
        f"# Written by groundup.cloud.\n{afresh}table inet {GUARD.table} {{\n  chain prerouting {{\n{body}\n  }}\n}}\n"
    )


def interface(own: str, *, management: str) -> str:
    """Return the host's interface with the address ``own`` on the public network. Raises GroundupError.

    Refuses one that has addresses of other networks: they would be cut off.
    """
    name = interface_of(own)
    (link,) = json.loads(run(["ip", "-json", "-4", "address", "show", "dev", name]))
    here = [IPv4Interface(f"{one['local']}/{one['prefixlen']}") for one in link["addr_info"]]
    network = next(one.network for one in here if str(one.ip) == own)
    others = [str(one.ip) for one in here if one.ip not in network]
    if others or IPv4Address(management) in network or name == interface_of(management):
        raise GroundupError(
            f"{name} is the interface of the public network, and has {', '.join(others) or management}, too",
            where="ip address show; networks of purpose public",
            why="what comes in by the public network is dropped but for users' requests: the host would be cut off",
            remedy="give the public network an interface or a VLAN of its own on every control host",
        )
    return name


def converge(changes: Changes, wanted: str) -> None:
    """Load the rules ``wanted`` now and at each boot; empty: leave none behind. Raises GroundupError."""
    if wanted:
        GUARD.converge(changes, wanted)
        return
    GUARD.remove(changes)


def check(own: str, address: str, *, management: str) -> None:
    """Check that the rules are in force. Raises GroundupError."""
    if not GUARD.in_force(rules(interface(own, management=management), address)):
        raise GroundupError(
            "the rules that close this host to the public network are not in force",
            where=f"nft list table inet {GUARD.table}; {GUARD.unit.name}",
            why="users would reach sshd and the cluster's ports",
            remedy="run the playbook groundup.cloud.kubernetes; see what flushes nftables",
        )
