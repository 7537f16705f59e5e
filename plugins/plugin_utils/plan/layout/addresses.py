"""The address plan: a machine's address follows from its role and its number alone.

Each role has a share of every network, a fixed fraction of its size. Machine *n* of a role has the *n*-th address of
the share on each of its networks. Adding or removing a machine therefore never moves another. The price: one share
can be full while another is empty. This is a finding, and `ranges` in the site file solve it.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from ...layers.roles import ROLES
from ..model.networks import Network

SMALLEST_SHARED = (
    25  # prefix length; in a smaller network the first share has no room for a router and a virtual address
)


@dataclass(frozen=True, slots=True)
class Share:
    """Consecutive addresses as integers, both ends included; empty when ``last < first``."""

    first: int
    last: int

    def nth(self, number: int) -> int | None:
        """Return the ``number``-th address (from 1), None beyond the end."""
        value = self.first + number - 1
        return value if number >= 1 and value <= self.last else None

    @property
    def size(self) -> int:
        """Return the number of addresses."""
        return max(0, self.last - self.first + 1)

    def __str__(self) -> str:
        return f"{text(self.first)}-{text(self.last)}" if self.size else "no addresses"


def text(address: int) -> str:
    """Return an integer as a dotted quad."""
    return f"{address >> 24}.{address >> 16 & 255}.{address >> 8 & 255}.{address & 255}"


def number(address: str) -> int:
    """Return a dotted quad as an integer."""
    return int(IPv4Address(address))


def shares(network: Network) -> dict[str, Share]:
    """Return each role's share of ``network``: its ``ranges`` in the site file, else the role record's share."""
    cidr = IPv4Network(network.cidr)
    base, size = int(cidr.network_address), cidr.num_addresses
    found: dict[str, Share] = {}
    for role, record in ROLES.items():
        written = network.ranges.get(role)
        if written:
            first, last = written.split("-")
            found[role] = Share(number(first), number(last))
        elif cidr.prefixlen > SMALLEST_SHARED:
            found[role] = Share(base, base - 1)
        else:
            low, high = record.share
            found[role] = Share(base + size * low // 32, min(base + size * high // 32, base + size - 1) - 1)
    return found


def nth_of(cidr: str, position: int) -> str:
    """Return the ``position``-th address of ``cidr``; 0 is the network address."""
    return text(int(IPv4Network(cidr).network_address) + position)
