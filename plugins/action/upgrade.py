"""Action of module groundup.cloud.upgrade: the steps of the room upgrade, on the controller."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.upgrade.job import UpgradeJob


class ActionModule(DocumentedAction):
    """Run one step."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result."""
        names = ("site_file", "force", "seen")
        job = UpgradeJob(say=self._display.display, **{name: given[name] for name in names})
        return {"check": job.check, "apply": job.apply, "verify": job.verify}[given["step"]]()
