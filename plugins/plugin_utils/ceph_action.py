"""Ask the site's own Ceph on a storage host, from an action on the controller."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleConnectionFailure

from .actions import DocumentedAction
from .errors import GroundupError
from .plan.output.serial import site_vars
from .plan.types import Plan
from .vault import open_store

ADMIN = "ceph/client.admin"
SAID = re.compile(r"(.*?)\n  where:  (.*?)\n  why:    (.*?)\n  remedy: (.*)", re.DOTALL)


class CephAction(DocumentedAction):
    """An action whose task is led to a storage host, which is asked about Ceph."""

    _requires_connection = True

    def ask_ceph(self, plan: Plan, options: dict[str, Any], *, step: str, check: bool = False) -> dict[str, Any]:
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
