"""Labels and taints of Kubernetes nodes."""

from __future__ import annotations

from ...layers.roles import ROLES, Role
from ...layers.storage import BACKENDS
from ..model import Site
from ..model.machines import MachineGroup
from .context import roles_of, size_of
from .profiles import PROFILES


class NodeRules:
    """Labels and taints by role."""

    def __init__(self, site: Site) -> None:
        groups = [(name, group) for name, group in site.machines.items() if size_of(site, group)]
        present = {role for name, group in groups for role in roles_of(name, group)}
        self._nodes = {name for name, role in ROLES.items() if role.node} | BACKENDS[site.storage.backend].nodes
        # The control taint needs other nodes that take pods: without them nothing could run.
        self._tainted = PROFILES[site.profile].control_taint and any(map(_takes_pods, present))

    def labels(self, roles: tuple[Role, ...], group: MachineGroup) -> dict[str, str]:
        """Return the labels of a machine with ``roles``; empty when it is not a node of the cluster."""
        if not self.is_node(roles):
            return {}
        labels = dict(group.labels)
        for role in roles:
            if _takes_pods(role) or not self._tainted:
                labels |= ROLES[role].labels
            labels[f"groundup.cloud/{role}"] = "true"
        return labels

    def taints(self, roles: tuple[Role, ...], group: MachineGroup) -> tuple[str, ...]:
        """Return the taints of a machine with ``roles``."""
        if not self.is_node(roles):
            return ()
        tainted = self._tainted and not any(map(_takes_pods, roles))
        own = [taint for role in roles if tainted and (taint := ROLES[role].taint)]
        return (*own, *group.taints)

    def is_node(self, roles: tuple[Role, ...]) -> bool:
        """Say whether a machine with ``roles`` is a node of the cluster."""
        return not self._nodes.isdisjoint(roles)


def _takes_pods(role: Role) -> bool:
    return bool(ROLES[role].labels) and ROLES[role].taint is None
