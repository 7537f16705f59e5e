"""What a layer installs on hosts: OS packages, kernel settings, and directories for much data."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from ...module_utils._plan.ceph import Backend
from ...module_utils._plan.kubernetes import Volumes
from .roles import Role

CONNTRACK_MAX = "net.netfilter.nf_conntrack_max"
# Parameters of the whole kernel despite the prefix net.: a network namespace can only read them.
OF_THE_MACHINE = frozenset((CONNTRACK_MAX,))


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageSet:
    """What hosts of some roles get in addition to a Debian with systemd, openssh-server, sudo and python3.

    The seed serves all packages (`packages-*` of supply.lock), and lab hosts have them preinstalled (`rootfs-host`): a
    test compares these lists with this table.
    """

    roles: frozenset[Role] = frozenset()
    nodes: bool = False  # for every node of the cluster
    backend: Backend | tuple[Backend, ...] | None = None  # only for sites with this storage backend, or one of these
    service: str | None = None  # only for sites with this service
    general: Volumes | None = None  # only for sites whose storage class `general` has this backend
    own_kernel: bool = False  # only for hosts that share no kernel: drives are the machine's
    packages: tuple[str, ...] = ()
    substitutes: tuple[str, ...] = ()  # installed when the host has no other package for the same task
    sysctl: Mapping[str, str] = field(default_factory=dict)
    kernel_modules: tuple[str, ...] = ()  # for hosts with a kernel of their own
    space: Mapping[str, int] = field(default_factory=dict)  # directory -> GiB that the first run of its layer writes
    needed_modules: tuple[str, ...] = ()  # kernel modules that the kernel loads by itself
    volumes: tuple[str, ...] = ()  # for overlays or much data: a lab host keeps them outside its root file system

    def fits(
        self, roles: tuple[Role, ...], *, node: bool, services: Collection[str] = (), backend: Backend = "none",
        general: Volumes = "local", own_kernel: bool = True,
    ) -> bool:  # fmt: skip
        """Say whether a machine with ``roles`` gets this set. ``node``: it is a node of the cluster."""
        backends = self.backend if isinstance(self.backend, tuple) else (self.backend,)
        ours = bool({None, backend} & {*backends}) and self.service in (None, *services)
        ours = ours and self.general in (None, general) and (own_kernel or not self.own_kernel)
        return ours and ((self.nodes and node) or not self.roles.isdisjoint(roles))
