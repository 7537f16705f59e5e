"""What a layer puts on hosts: packages of the OS, kernel settings, and directories that hold much."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from .roles import Role
from .storage import Backend

CONNTRACK_MAX = "net.netfilter.nf_conntrack_max"
# The machine's, although their names say net: a network namespace may read them only.
OF_THE_MACHINE = frozenset((CONNTRACK_MAX,))


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageSet:
    """What the hosts of some roles get, on top of a Debian that has systemd, openssh-server, sudo and python3 alone.

    The seed serves all packages (`packages-*` of supply.lock), and hosts of the lab come with them (`rootfs-host`): a
    test holds these lists to this table.
    """

    roles: frozenset[Role] = frozenset()
    nodes: bool = False  # for every node of the cluster
    backend: Backend | tuple[Backend, ...] | None = None  # only in sites with this storage backend, or one of these
    service: str | None = None  # only in sites that have it among their services
    packages: tuple[str, ...] = ()
    substitutes: tuple[str, ...] = ()  # installed where the host has nothing of its own that does their work
    sysctl: Mapping[str, str] = field(default_factory=dict)
    kernel_modules: tuple[str, ...] = ()  # for hosts with a kernel of their own
    space: Mapping[str, int] = field(default_factory=dict)  # GiB that its layer's first run writes, by directory
    needed_modules: tuple[str, ...] = ()  # of the kernel, which loads them by itself
    volumes: tuple[str, ...] = ()  # hold overlays or much data: a lab host keeps them beside its root file system

    def fits(
        self, roles: tuple[Role, ...], *, node: bool, services: Collection[str] = (), backend: Backend = "none"
    ) -> bool:
        """Say whether a machine with ``roles`` gets this; ``node``: it is a node of the cluster."""
        backends = self.backend if isinstance(self.backend, tuple) else (self.backend,)
        ours = bool({None, backend} & {*backends}) and self.service in (None, *services)
        return ours and ((self.nodes and node) or not self.roles.isdisjoint(roles))
