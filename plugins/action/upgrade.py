"""Action of module groundup.cloud.upgrade: the steps of the room upgrade, on the controller."""

from __future__ import annotations

from typing import Any, ClassVar

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.upgrade.job import UpgradeJob


class ActionModule(DocumentedAction):
    """Run one step."""

    RULES: ClassVar = {"required_if": [("step", "drain", ("hosts",)), ("step", "let_in", ("hosts",))]}

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result."""
        names = ("site_file", "force", "seen", "until", "timeout")
        job = UpgradeJob(say=self._display.display, **{name: given[name] for name in names})
        match given["step"]:
            case "check":
                return job.check()
            case "verify":
                return job.verify()
            case _ if self.changes.check:
                return {"skipped": True, "msg": "nothing changes in check mode"}
            case "drain":
                return job.drain(given["hosts"], evict=given["evict"])
            case "let_in":
                return job.let_in(given["hosts"])
        steps = {"begin": job.begin, "checkpoint": job.checkpoint, "move": job.move, "end": job.end}
        return steps[given["step"]]()
