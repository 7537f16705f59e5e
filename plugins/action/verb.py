"""Action of module groundup.cloud.verb: one step of a verb on one machine."""

from __future__ import annotations

from typing import Any

from ..plugin_utils import verbs
from ..plugin_utils.ceph_action import CephAction
from ..plugin_utils.compose import site_plan
from ..plugin_utils.verbs.base import Asked


class ActionModule(CephAction):
    """Do the step on the controller. The task is led to a storage host, which is asked about Ceph."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the step's result, or its error, with the names of this run that end. Ansible shows each once."""
        done, args = super().run(tmp, task_vars), self._task.args
        old, formerly = f"{args['verb']}_machine", args.get("formerly")
        used = [(old, "machine")] if "machine" not in self.variables and self.variables.get(old) else []
        used += [(formerly, args["verb"])] if formerly else []
        ending = [f"{name} ends with the next release; use {new}" for name, new in used]
        return {**done, "warnings": [*done.get("warnings", ()), *ending]}

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        plan = site_plan(given["site_file"])

        def ceph(step: str, *, check: bool = False, **options: Any) -> dict[str, Any]:
            return self.ask_ceph(plan, {"name": given["machine"], **options}, step=step, check=check)

        asked = Asked(
            plan=plan, machine=given["machine"], force=given["force"], parallel=given["parallel"],
            timeout=given["timeout"], method=given["method"], seen=given["seen"], ceph=ceph, formerly=given["formerly"],
            check=self.changes.check, say=self._display.display,
        )  # fmt: skip
        return verbs.find(given["verb"])(asked).run(given["step"])
