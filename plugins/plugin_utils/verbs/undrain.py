"""Undrain a hypervisor: it takes instances again after a drain, an evacuation or a retirement, known by the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...module_utils._base.text import few
from ...module_utils._base.wait import wait_until
from ..cloud import compute_host
from ..cloud.compute_host import COMPUTE, ComputeHost
from ..errors import GroundupError
from .drain import HypervisorVerb


class Undrain(HypervisorVerb):
    """Enable its compute service again. Between the steps, the playbook looks at the machine."""

    name = "undrain"
    one = "one hypervisor is undrained at a time"

    def predict(self, state: ComputeHost) -> list[str]:
        """Return what would be enabled."""
        return compute_host.enable(self.compute, state, check=True)[0]

    def facts(self, state: ComputeHost) -> dict[str, Any]:
        """Return whether an evacuation had disabled it."""
        return {"evacuated": state.evacuated}

    def steps(self) -> Mapping[str, Callable[[ComputeHost], dict[str, Any]]]:
        """Return the steps; the playbook does the first for an evacuated machine alone."""
        return {"ended": self.ended, "enable": self.enable}

    def enable(self, state: ComputeHost) -> dict[str, Any]:
        """Enable its compute service, unless somebody else disabled it."""
        changes, note = compute_host.enable(self.compute, state, check=False)
        return {"changes": changes, "evacuated": state.evacuated, **({"warnings": [note]} if note else {})}

    def remains(self, state: ComputeHost) -> list[str]:
        """Return whether one of our verbs keeps it disabled."""
        return [f"its {COMPUTE} is disabled: {state.disabled}"] if compute_host.ours(state.disabled) else []

    def ended(self, state: ComputeHost) -> dict[str, Any]:
        """Wait until nova-compute, which was restarted, has ended what was evacuated. Raises GroundupError."""
        name, timeout = state.name, self.asked.timeout or 300
        if left := wait_until(lambda: compute_host.unended(self.compute, name), timeout=timeout, pause=3.0):
            raise GroundupError(
                f"{COMPUTE} of {name} has not ended {len(left)} evacuated instance(s): {few(left)}",
                where=f"hypervisor {name}",
                why="they run elsewhere now: two would write to one disk. Nova refuses to hear the host until then",
                remedy=f"journalctl -u {COMPUTE}, on {name}; then run this again, which restarts it",
            )
        return {"changes": []}


VERB = Undrain
