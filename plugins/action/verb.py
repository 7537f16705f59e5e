"""Action of module groundup.cloud.verb: one step of a verb on one machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleConnectionFailure

from ..plugin_utils import verbs
from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.compose import site_plan
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.plan.output.serial import site_vars
from ..plugin_utils.plan.types import Plan
from ..plugin_utils.vault import open_store
from ..plugin_utils.verbs.base import Asked

ADMIN = "ceph/client.admin"
SAID = re.compile(r"(.*?)\n  where:  (.*?)\n  why:    (.*?)\n  remedy: (.*)", re.DOTALL)


class ActionModule(DocumentedAction):
    """Do the step on the controller. The task is led to a storage host, which is asked about Ceph."""

    _requires_connection = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the step's result, or its error, with the names of this run that end. Ansible shows each once."""
        done, args = super().run(tmp, task_vars), self._task.args
        old, formerly = f"{args['verb']}_machine", args.get("formerly")
        used = [(old, "machine")] if "machine" not in self.variables and self.variables.get(old) else []
        used += [(formerly, args["verb"])] if formerly else []
        ending = [f"{name} ends with the next release; use {new}" for name, new in used]
        return {**done, "warnings": [*done.get("warnings", ()), *ending]}

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result."""
        plan = site_plan(given["site_file"])

        def ceph(step: str, *, check: bool = False, **options: Any) -> dict[str, Any]:
            return self._ceph(plan, {"name": given["machine"], **options}, step=step, check=check)

        asked = Asked(
            plan=plan, machine=given["machine"], force=given["force"], parallel=given["parallel"],
            timeout=given["timeout"], method=given["method"], seen=given["seen"], ceph=ceph, formerly=given["formerly"],
            check=self.changes.check, say=self._display.display,
        )  # fmt: skip
        return verbs.find(given["verb"])(asked).run(given["step"])

    def _ceph(self, plan: Plan, options: dict[str, Any], *, step: str, check: bool) -> dict[str, Any]:
        """Return what a step of module ceph says on the storage host. Raises GroundupError."""
        keys = {ADMIN: open_store(plan.site, write=False).get(ADMIN)}
        given = {"timeout": 86400, "force": [], "here": False, "ceph": site_vars(plan)["ceph"], "keys": keys, **options}
        runs = self._task.check_mode
        self._task.check_mode = check or runs
        try:
            done = self._execute_module(
                module_name="groundup.cloud.ceph", module_args={"step": step, "given": given}, task_vars=self.variables
            )
        except AnsibleConnectionFailure as error:
            raise GroundupError(
                f"no storage host answers: {error}", where=f"storage host {self._task.delegate_to}",
                why="what Ceph has of the machine is not known; nothing was changed",
                remedy="playbook groundup.cloud.storage, tag verify; then run this again",
            ) from error  # fmt: skip
        finally:
            self._task.check_mode = runs
        if done.get("failed"):
            raise _told(done)
        return dict(done)


def _told(done: Mapping[str, Any]) -> GroundupError:
    """Return the error that a host wrote as text; of a module that crashed, its last line."""
    text = str(done.get("msg") or "module ceph failed")
    if said := SAID.fullmatch(text):
        what, where, why, remedy = said.groups()
        return GroundupError(what, where=where, why=why, remedy=remedy)
    last = str(done.get("module_stderr") or done.get("module_stdout") or "").strip().rpartition("\n")[2]
    return GroundupError(
        ": ".join(filter(None, (text, last))), where="module ceph, on a storage host",
        why="what Ceph has of the machine is not known", remedy="put that right, then run this again",
    )  # fmt: skip
