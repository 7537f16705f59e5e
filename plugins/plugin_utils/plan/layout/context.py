"""Layout and plan context: what findings read, and what the compiler turns into a `Plan`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ...layers.purposes import Purpose
from ...layers.roles import Role
from ..model import Site
from ..model.machines import Hardware, Machine, MachineGroup
from ..model.networks import Network
from ..types import Finding, HostPlan, NetworkPlan, Plan
from .addresses import Share
from .names import expand_names
from .profiles import Profile


@dataclass(frozen=True, slots=True)
class Member:
    """One machine of a group, before it has addresses."""

    name: str
    group: str
    rack: str
    number: int | None  # place in the role's share, offset included; None: nothing says it
    in_rack: int | None  # the same counted in its rack, for planes with a subnet a rack
    own: Machine | None  # what the site file says of this machine alone
    key: str  # key path of the machine, or of its group


@dataclass(slots=True, kw_only=True)
class Layout:
    """Networks and machines with their addresses."""

    site: Site
    profile: Profile
    written: dict[str, Network]  # networks as written or by the profile
    networks: dict[str, NetworkPlan]
    shares: dict[str, dict[str, Share]]  # network, role
    racks: dict[str, int | None]  # rack -> number
    hardware: dict[str, Hardware]
    members: list[Member] = field(default_factory=list)
    hosts: dict[str, HostPlan] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)  # noticed while machines were laid out

    def by_purpose(self, purpose: Purpose) -> list[NetworkPlan]:
        """Return the networks of ``purpose`` in the order of the site file."""
        return [network for network in self.networks.values() if network.purpose == purpose]

    def with_role(self, role: Role) -> list[HostPlan]:
        """Return the hosts of ``role``, in the order of the site file."""
        return [host for host in self.hosts.values() if role in host.roles]

    def groups(self) -> Iterator[tuple[str, MachineGroup, tuple[Role, ...]]]:
        """Yield each group's name, the group, and its roles."""
        for name, group in self.site.machines.items():
            yield name, group, roles_of(name, group)

    @property
    def management(self) -> NetworkPlan:
        """Return the network hosts are reached on; `validation` made sure there is one."""
        return self.by_purpose("management")[0]

    @property
    def underlay(self) -> NetworkPlan:
        """Return the network pods' packets cross hosts on: that of a node's own address."""
        return self.management


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanContext:
    """The layout and the plan without findings: what was written beside what follows from it."""

    layout: Layout
    plan: Plan  # its findings are still empty

    @property
    def site(self) -> Site:
        """Return the site file's model."""
        return self.layout.site


def size_of(site: Site, group: MachineGroup) -> int:
    """Return how many machines a group stands for."""
    racks = len(group.racks or site.racks)
    return group.count or (group.per_rack or 0) * racks or sum(len(expand_names(name)) for name in group.names or [])


def roles_of(name: str, group: MachineGroup) -> tuple[Role, ...]:
    """Return the roles of a group: those written, else its name (`validation` made sure it is a role)."""
    return tuple(dict.fromkeys(group.roles)) if group.roles else (name,)  # type: ignore[return-value]  # a role, as said above
