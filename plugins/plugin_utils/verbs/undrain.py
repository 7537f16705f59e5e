"""Undrain a machine: it takes data and instances again after a drain, an evacuation or a retirement of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...module_utils._base.text import few
from ...module_utils._base.wait import wait_until
from ..cloud import compute_host
from ..cloud.compute_host import COMPUTE, ComputeHost
from ..errors import GroundupError
from ..progress import reminder
from .drain import InstancesVerb
from .parts import HYPERVISOR, MachineState


class Undrain(InstancesVerb):
    """Give back its weights in Ceph, then enable its compute service. Before that, the playbook looks at it."""

    name = "undrain"
    one = "one machine is undrained at a time"

    def stores(self, found: Mapping[str, Any]) -> bool:
        """Say whether drain took its weights. At a hypervisor, those that somebody else took are not asked about."""
        return bool(found.get("drained") or (found.get("osds") and HYPERVISOR not in self.roles))

    def at_hypervisor(self, found: ComputeHost) -> list[str]:
        """Return what would be enabled."""
        return compute_host.enable(self.compute, found, check=True)[0]

    def facts(self, state: MachineState[ComputeHost]) -> dict[str, Any]:
        """Return whether an evacuation had disabled it."""
        return {"evacuated": state.cloud is not None and state.cloud.evacuated}

    def steps(self) -> Mapping[str, Callable[[MachineState[ComputeHost]], dict[str, Any]]]:
        """Return the steps; the playbook does the first for an evacuated machine alone."""
        return {"ended": self.ended, "fill": self.fill, "enable": self.enable}

    def ended(self, state: MachineState[ComputeHost]) -> dict[str, Any]:
        """Wait until nova-compute, which was restarted, has ended what was evacuated. Raises GroundupError."""
        name, timeout = self.asked.machine, self.asked.timeout or 300
        if state.cloud is None:
            return {"changes": []}
        if left := wait_until(lambda: compute_host.unended(self.compute, name), timeout=timeout, pause=3.0):
            raise GroundupError(
                f"{COMPUTE} of {name} has not ended {len(left)} evacuated instance(s): {few(left)}",
                where=f"hypervisor {name}",
                why="they run elsewhere now: two would write to one disk. Nova refuses to hear the host until then",
                remedy=f"journalctl -u {COMPUTE}, on {name}; then run this again, which restarts it",
            )
        return {"changes": []}

    def fill(self, state: MachineState[ComputeHost]) -> dict[str, Any]:
        """Have Ceph give it the data back that drain took."""
        if state.ceph is None:
            return {"changes": []}
        with reminder(self.asked.say, f"[undrain] data of {self.asked.machine}"):
            return {"changes": self.on_ceph()}

    def enable(self, state: MachineState[ComputeHost]) -> dict[str, Any]:
        """Enable its compute service, unless somebody else disabled it."""
        if state.cloud is None:
            return {"changes": []}
        changes, note = compute_host.enable(self.compute, state.cloud, check=False)
        return {"changes": changes, "evacuated": state.cloud.evacuated, **({"warnings": [note]} if note else {})}

    def remains(self, state: MachineState[ComputeHost]) -> list[str]:
        """Return whether one of our verbs keeps it disabled. Raises GroundupError for a machine of neither role."""
        self.of_a_role(state)
        disabled = None if state.cloud is None else state.cloud.disabled
        left = [f"its {COMPUTE} is disabled: {disabled}"] if compute_host.ours(disabled) else []
        return left + (["Ceph keeps it drained"] if (state.ceph or {}).get("drained") else [])


VERB = Undrain
