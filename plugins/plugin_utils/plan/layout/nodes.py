"""Which machines are nodes of the cluster, with which labels and taints."""

from __future__ import annotations

from ..model import Site
from ..model.machines import MachineGroup
from ..types import Role
from .context import roles_of, size_of
from .profiles import PROFILES

CONTROL_TAINT = "node-role.kubernetes.io/control-plane:NoSchedule"
# What OpenStack-Helm's charts select nodes by (requirement L1).
OPENSTACK_LABELS = {"openstack-control-plane": "enabled", "openstack-storage": "enabled"}


class NodeRules:
    """Labels and taints by role, for one site."""

    def __init__(self, site: Site) -> None:
        groups = [(name, group) for name, group in site.machines.items() if size_of(site, group)]
        roles = {role for name, group in groups for role in roles_of(name, group)}
        # A taint keeps pods off; without workers it would keep them off everything.
        self._tainted = PROFILES[site.profile].control_taint and "worker" in roles
        self._storage_nodes = site.storage.backend == "rook"

    def labels(self, roles: tuple[Role, ...], group: MachineGroup) -> dict[str, str]:
        """Return the labels of a machine with ``roles``; none when it is no node of the cluster."""
        if not self.is_node(roles):
            return {}
        labels = dict(group.labels)
        if "worker" in roles or ("control" in roles and not self._tainted):
            labels |= OPENSTACK_LABELS
        for role in roles:
            labels[f"groundup.cloud/{role}"] = "true"
        return labels

    def taints(self, roles: tuple[Role, ...], group: MachineGroup) -> tuple[str, ...]:
        """Return the taints of a machine with ``roles``."""
        own = (CONTROL_TAINT,) if self._tainted and "control" in roles and "worker" not in roles else ()
        return (*own, *group.taints) if self.is_node(roles) else ()

    def is_node(self, roles: tuple[Role, ...]) -> bool:
        """Say whether a machine with ``roles`` is in the cluster: control and worker always, storage under Rook."""
        return "control" in roles or "worker" in roles or (self._storage_nodes and "storage" in roles)
