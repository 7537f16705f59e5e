"""Drain a machine: instances of a hypervisor move away, live if possible; data of a storage host are copied away."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...module_utils._base.consent import Reason
from ..cloud import compute_host, connection, drain
from ..cloud.compute_host import ComputeHost
from ..progress import reminder
from .parts import MachineState, RolesVerb


class InstancesVerb(RolesVerb[ComputeHost]):
    """A verb on a machine that instances and data are on."""

    def in_cloud(self) -> ComputeHost:
        """Return the hypervisor's service, instances and migrations."""
        self.compute = connection.of_site(self.asked.plan).compute
        return compute_host.look(self.compute, self.asked.machine)

    def knows(self, found: ComputeHost) -> bool:
        """Say whether Nova has a compute service of it."""
        return found.service is not None

    def survey(self) -> MachineState[ComputeHost]:
        """Return the machine. Raises GroundupError for a hypervisor of the site file that Nova does not know."""
        found = super().survey()
        if found.cloud is not None:
            compute_host.refuse_unknown(found.cloud)
        return found


class DrainVerb(InstancesVerb):
    """Move every instance away first: it needs minutes, and the copies of data hours."""

    name = "drain"
    one = "one machine is drained at a time"
    codes = ("cold",)

    def against(self, found: ComputeHost) -> Iterable[Reason]:
        """Return why its instances cannot leave."""
        return drain.reasons(found)

    def at_hypervisor(self, found: ComputeHost) -> list[str]:
        """Return how each instance would leave."""
        return drain.foreseen(found)

    def steps(self) -> Mapping[str, Callable[[MachineState[ComputeHost]], dict[str, Any]]]:
        """Return the steps, one a role."""
        return {"drain": self.move_away, "copy": self.copy_away}

    def move_away(self, state: MachineState[ComputeHost]) -> dict[str, Any]:
        """Disable its service, then move its instances. Raises GroundupError for those that stay, after all others."""
        asked, cold, host = self.asked, "cold" in self.asked.force, state.cloud
        if host is None:
            return {"changes": []}
        options = drain.DrainOptions(cold=cold, parallel=asked.parallel or 2, timeout=asked.timeout or 1800)
        changes = compute_host.disable(self.compute, host, compute_host.DRAIN)
        moves = drain.Drain(self.compute, host.name, options, asked.say)
        with reminder(asked.say, f"[drain] {host.name}"):
            moves.run()
        if moves.stuck:
            raise drain.refused(host.name, moves.stuck.values(), cold=cold)
        changes += [f"{one['way']} {one['name']} ({one['id']}) {one['result']}" for one in moves.done]
        return {"changes": changes, "instances": moves.done}

    def copy_away(self, state: MachineState[ComputeHost]) -> dict[str, Any]:
        """Have Ceph copy its data to other hosts; old copies serve meanwhile."""
        if state.ceph is None:
            return {"changes": []}
        with reminder(self.asked.say, f"[drain] data of {self.asked.machine}"):
            return {"changes": self.on_ceph()}

    def remains(self, state: MachineState[ComputeHost]) -> list[str]:
        """Return what keeps it from being drained. Raises GroundupError for a machine of neither role."""
        self.of_a_role(state)
        left = [] if state.cloud is None else drain.remains(state.cloud)
        return left + [
            f"osd.{one['number']} has weight {one['weight']:g} and {one['groups']} placement groups"
            for one in (state.ceph or {}).get("osds", ())
            if one["weight"] or one["groups"]
        ]

    def next_steps(self) -> str:
        """Return the way back, and the way out."""
        name = self.asked.machine
        return (
            f"{name} is empty: no instance comes to it, and it holds no data that are not elsewhere. To have it take "
            f"them again: ansible-playbook groundup.cloud.undrain -e machine={name}. To take it out: ansible-playbook "
            f"groundup.cloud.retire -e machine={name}"
        )


VERB = DrainVerb
