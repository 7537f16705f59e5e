"""Drain a hypervisor: it takes no new instances, and those on it move to others, live if possible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from ...module_utils._base.consent import Reason
from ..cloud import compute_host, connection, drain
from ..cloud.compute_host import ComputeHost
from ..progress import reminder
from .base import Verb

REMEDY = "playbook groundup.cloud.openstack, tag verify; then run this again"


class HypervisorVerb(Verb[ComputeHost]):
    """A verb on a hypervisor by Nova's API."""

    loses = "instances of tenants, or what the cloud keeps of them, would be lost"

    def around(self) -> AbstractContextManager[None]:
        """Make Nova's errors ours."""
        return connection.answered("Nova", remedy=REMEDY)

    def survey(self) -> ComputeHost:
        """Return the hypervisor's service, instances and migrations."""
        self.compute = connection.of_site(self.asked.plan).compute
        return compute_host.known(self.compute, self.asked.machine)


class DrainVerb(HypervisorVerb):
    """Move every instance away."""

    name = "drain"
    one = "one hypervisor is drained at a time"
    codes = ("cold",)

    def reasons(self, state: ComputeHost) -> Iterable[Reason]:
        """Return why it cannot be drained."""
        return drain.reasons(state)

    def predict(self, state: ComputeHost) -> list[str]:
        """Return how each instance would leave."""
        return drain.foreseen(state)

    def steps(self) -> Mapping[str, Callable[[ComputeHost], dict[str, Any]]]:
        """Return the one step."""
        return {"drain": self.move_away}

    def move_away(self, state: ComputeHost) -> dict[str, Any]:
        """Disable its service, then move its instances. Raises GroundupError for those that stay, after all others."""
        asked, cold = self.asked, "cold" in self.asked.force
        options = drain.DrainOptions(cold=cold, parallel=asked.parallel or 2, timeout=asked.timeout or 1800)
        changes = compute_host.disable(self.compute, state, compute_host.DRAIN)
        moves = drain.Drain(self.compute, state.name, options, asked.say)
        with reminder(asked.say, f"[drain] {state.name}"):
            moves.run()
        if moves.stuck:
            raise drain.refused(state.name, moves.stuck.values(), cold=cold)
        changes += [f"{one['way']} {one['name']} ({one['id']}) {one['result']}" for one in moves.done]
        return {"changes": changes, "instances": moves.done}

    def remains(self, state: ComputeHost) -> list[str]:
        """Return what keeps it from being drained."""
        return drain.remains(state)

    def next_steps(self) -> str:
        """Return the way back, and the way out."""
        name = self.asked.machine
        return (
            f"{name} is empty and takes no instances. To have it take them again: ansible-playbook "
            f"groundup.cloud.undrain -e machine={name}. To take it out of the cloud: ansible-playbook "
            f"groundup.cloud.retire -e machine={name}"
        )


VERB = DrainVerb
