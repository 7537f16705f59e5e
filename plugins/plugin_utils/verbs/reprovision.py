"""Reprovision a machine from power-off: erase its disks, then install it again from the current site file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...module_utils._base.changes import Changes
from ..metal.erase import Erasure
from ..metal.install import InstallOptions, install
from ..metal.page import page_of, shown
from .erase import Erase


class Reprovision(Erase):
    """Erase it as `erase` does; it stays in Ironic and in the site file."""

    name = "reprovision"
    one = "one machine is reprovisioned at a time"
    stays = True

    def steps(self) -> Mapping[str, Callable[[Erasure], dict[str, Any]]]:
        return {"erase": self.erase, "install": self.install}

    def install(self, state: Erasure) -> dict[str, Any]:
        """Install it. Raises GroundupError when that fails."""
        plan, say, changes = self.asked.plan, self.asked.say, Changes(check=False)
        page = page_of(plan)
        with shown(plan, page, say):
            failed = install(changes, plan, [state.name], say, InstallOptions(timeout=state.timeout), page=page)
        for error in failed.values():
            raise error
        return {"changes": changes.done}

    def next_steps(self) -> str:
        """Return what configures it."""
        return f"{self.asked.machine} is installed. Run the layers: ansible-playbook groundup.cloud.site"


VERB = Reprovision
