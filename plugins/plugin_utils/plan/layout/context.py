"""Layout and plan context: input of findings and of the compiler that makes a `Plan`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ....module_utils._plan.container import Purpose
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
    number: int | None  # place in the role's share, offset included; None: unknown
    in_rack: int | None  # place within its rack, for networks with a subnet per rack
    own: Machine | None  # the machine's own entry in the site file
    key: str  # key path of the machine, or of its group


@dataclass(slots=True, kw_only=True)
class Layout:
    """Networks and machines with their addresses."""

    site: Site
    profile: Profile
    written: dict[str, Network]  # from the site file, else from the profile
    networks: dict[str, NetworkPlan]
    shares: dict[str, dict[str, Share]]  # network, role
    racks: dict[str, int | None]  # rack -> number
    hardware: dict[str, Hardware]
    members: list[Member] = field(default_factory=list)
    hosts: dict[str, HostPlan] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)  # found while machines were laid out

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
        """Return the network that hosts are reached on. `validation` guarantees that it exists."""
        return self.by_purpose("management")[0]

    @property
    def underlay(self) -> NetworkPlan:
        """Return the network that carries pods' packets between hosts: the network of the node's address."""
        return self.management


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanContext:
    """Layout and plan for findings: the site file, and what follows from it."""

    layout: Layout
    plan: Plan  # its findings are still empty

    @property
    def site(self) -> Site:
        """Return the site file's model."""
        return self.layout.site


def size_of(site: Site, group: MachineGroup) -> int:
    """Return the number of machines in a group."""
    racks = len(group.racks or site.racks)
    return group.count or (group.per_rack or 0) * racks or sum(len(expand_names(name)) for name in group.names or [])


def roles_of(name: str, group: MachineGroup) -> tuple[Role, ...]:
    """Return a group's roles: as written, else its name, which `validation` guarantees to be a role."""
    return tuple(dict.fromkeys(group.roles)) if group.roles else (name,)  # type: ignore[return-value]  # a role, as said above
