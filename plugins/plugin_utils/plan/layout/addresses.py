"""The address plan: a machine's address follows from its role and its number, and from nothing else.

A network is cut into shares, one a role, at fixed fractions of its size. Machine *n* of a role has the *n*-th address
of the share on every network it is on. Since no other machine enters into it, adding or removing one never moves
another; the price is that a share can be full while another is empty: a finding, and `ranges` in the site file the way
out.
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
        """Return how many addresses there are."""
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
    """Return each role's share of ``network``: as written in ``ranges``, else by its record."""
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
    """Return the ``position``-th address of ``cidr``, the network's own counted as 0."""
    return text(int(IPv4Network(cidr).network_address) + position)
