"""Ask hosts one by one, in a run that no silent host ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleConnectionFailure, AnsibleError

from ..actions import StepAction
from ..plan.types import HostPlan, Plan
from .hosts import not_there

_SHOWN = 300  # characters of what an unexpected answer says


class AskingAction(StepAction):
    """A step on a host whose silence is an answer."""

    def ask(
        self, plan: Plan, step: str, given: Callable[[HostPlan], Mapping[str, Any]], *, proof: str
    ) -> dict[str, Any]:
        """Return what the host says to ``step``: ``not_there`` or ``fault`` when it is silent, never a failed task.

        ``given``: the step's options on a host. ``proof``: a key of every answer.
        """
        host = plan.hosts[self.variables["inventory_hostname"]]
        if self._connection.transport == "ssh" and (why := not_there(plan, host)):
            return {"changed": False, "not_there": why}
        try:
            done = self.on_host(step=step, given=dict(given(host)))
        except AnsibleConnectionFailure as error:
            return {"changed": False, "fault": " ".join(f"unreachable: {error}".split())}
        except AnsibleError as error:
            return {"changed": False, "fault": " ".join(str(error).split())}
        if proof not in done:
            said = done.get("msg") or done.get("module_stderr") or done.get("module_stdout") or "no answer"
            return {"changed": False, "fault": " ".join(str(said).split())[-_SHOWN:]}
        return done
