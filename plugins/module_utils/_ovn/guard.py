"""Restrict by source address those ports of OVN's databases that no role protects.

A certificate of OVN's own CA opens them all, and a chassis' those of the southbound database: a server has one set of
CAs for all its ports, and accepts any of their certificates as a member's. So the host filters by address: the raft
ports admit members; the ports with full access admit the cluster's nodes and pods, for northd and Neutron. Only our
own nftables table is changed.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from .._base.changes import Changes
from .._base.run import attempt
from .._host.units import Unit
from .databases import DATABASES

TABLE = "groundup_ovn"
RULES = Path("/etc/groundup/ovn-ports.nft")
UNIT = Path("/etc/systemd/system/groundup-ovn-ports.service")
_UNIT = f"""\
# Written by groundup.cloud.
[Unit]
Description=Who reaches OVN's databases
After=nftables.service
Before={" ".join(one.unit for one in DATABASES)}
ConditionPathExists={RULES}

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/sbin/nft -f {RULES}

[Install]
WantedBy=multi-user.target
"""


def rules(*, members: Iterable[str], clients: Iterable[str]) -> str:
    """Return the nftables table, which replaces the former one atomically.

    Args:
        members: addresses of the control hosts.
        clients: addresses or networks with full access: nodes and pods of the cluster.
    """
    members = sorted(set(members))
    lines = [
        "iif lo accept",
        *_let_in([one.raft_port for one in DATABASES], members),
        *_let_in(
            [own.port for one in DATABASES for own in one.listeners if not own.role], sorted({*members, *clients})
        ),
    ]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    lines.append(f'tcp dport {_set(guarded())} drop comment "{digest}"')
    body = "\n".join(f"    {line}" for line in lines)
    chain = f"  chain input {{\n    type filter hook input priority filter; policy accept;\n{body}\n  }}\n"
    # Declaring and deleting the table first replaces it, whether it existed or not.
    afresh = f"table inet {TABLE}\ndelete table inet {TABLE}\n"
    return f"# Written by groundup.cloud.\n{afresh}table inet {TABLE} {{\n{chain}}}\n"


def guarded() -> list[int]:
    """Return the restricted ports."""
    return sorted(
        port for one in DATABASES for port in (one.raft_port, *(own.port for own in one.listeners if not own.role))
    )


def converge(changes: Changes, *, members: Sequence[str], clients: Sequence[str]) -> None:
    """Load the rules now and at each boot, before the databases start. Raises GroundupError."""
    wanted = rules(members=members, clients=clients)
    unit = Unit(changes, UNIT.name)
    unit.place(RULES, wanted)
    unit.place(UNIT, _UNIT)
    if not unit.stale and not in_force(wanted):  # the rules were flushed, and systemd still calls the unit active
        changes.add("load the rules for OVN's ports again")
        unit.replaced()
    unit.running()


def in_force(wanted: str) -> bool:
    """Return whether the kernel has the rules ``wanted``, compared by the digest in the last rule."""
    if shutil.which("nft") is None:  # a dry run before the host layer installs it
        return False
    said = attempt(["nft", "--stateless", "list", "chain", "inet", TABLE, "input"])
    return said.returncode == 0 and digest(wanted) in said.stdout


def digest(text: str) -> str:
    """Return the digest in the last rule of ``text``."""
    return text.rpartition('comment "')[2].partition('"')[0]


def _let_in(ports: Sequence[int], hosts: Sequence[str]) -> Iterator[str]:
    for family, own in (
        ("ip", [one for one in hosts if ":" not in one]),
        ("ip6", [one for one in hosts if ":" in one]),
    ):
        if own:
            yield f"{family} saddr {_set(own)} tcp dport {_set(sorted(ports))} accept"


def _set(values: Iterable[object]) -> str:
    return "{ " + ", ".join(map(str, values)) + " }"
