"""Action of module groundup.cloud.machine_approve."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.metal.install import approve
from ..plugin_utils.plan import load_site, make_plan


class ActionModule(DocumentedAction):
    """Approve one machine."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return what was approved."""
        approve(self.changes, make_plan(load_site(given["site_file"])), given["name"], self._display.display)
        return self.changes.result()
