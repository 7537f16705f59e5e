"""Action of module groundup.cloud.rotate: one phase of a rotation, from the controller."""

from __future__ import annotations

from typing import Any

from ..plugin_utils import rotate, site_identity
from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.backup.restore import journal as restores
from ..plugin_utils.compose import site_plan
from ..plugin_utils.rotate.base import RotationAsked
from ..plugin_utils.upgrade import journal
from ..plugin_utils.vault import open_store


class ActionModule(DocumentedAction):
    """Check, do a phase of, or verify the rotation of one kind of credential."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result."""
        kind, plan = rotate.find(given["what"]), site_plan(given["site_file"])
        restores.refuse_beside(plan.site, why=restores.HALF)
        for what in (journal.KUBERNETES, journal.OPENSTACK):
            journal.refuse_open(plan.site, "groundup.cloud.rotate", what)
        site_identity.refuse_other(plan, self.variables.get("site_force") or ())
        asked = RotationAsked(
            plan=plan, site_file=given["site_file"], store=open_store(plan.site, write=not self.changes.check),
            changes=self.changes, only=tuple(given["only"]), force=tuple(given["force"]), timeout=given["timeout"],
            seen=given["seen"], say=self._display.display,
        )  # fmt: skip
        return kind(asked).run(given["step"])
