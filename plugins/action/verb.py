"""Action of module groundup.cloud.verb: one step of a verb on one machine."""

from __future__ import annotations

from typing import Any

from ..plugin_utils import verbs
from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.compose import site_plan
from ..plugin_utils.verbs.base import Asked


class ActionModule(DocumentedAction):
    """Do the step on the controller."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result."""
        asked = Asked(
            plan=site_plan(given["site_file"]), machine=given["machine"], force=given["force"],
            parallel=given["parallel"], timeout=given["timeout"], seen=given["seen"],
            check=self.changes.check, say=self._display.display,
        )  # fmt: skip
        return verbs.find(given["verb"])(asked).run(given["step"])
