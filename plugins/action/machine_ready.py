"""Action of module groundup.cloud.machine_ready: check a machine over its connection, in one step."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleConnectionFailure

from ..module_utils._base.errors import GroundupError
from ..plugin_utils.layers import aside

LAYER = "metal"
_TIMED_OUT = 124  # exit code of timeout(1)

from ..plugin_utils.actions import DocumentedAction


class ActionModule(DocumentedAction):
    """Check that a machine is usable, and set it aside if it is not."""

    _requires_connection = True

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return nothing if the machine is ready; else why it is set aside, or its new group."""
        variables, within, result = self.variables, given["boot_timeout"], dict[str, Any]()
        if within is not None and self._task.check_mode:
            return {"skipped": True}  # nothing was started
        name = str(variables["inventory_hostname"])
        try:
            if within is None:
                found = self._execute_module(module_name="ansible.builtin.ping", module_args={}, task_vars=variables)
                fault = aside.failed(name, LAYER, found) if found.get("failed") else None
                result = found
            else:
                # With a timeout: a unit that never finishes starting would block the run for ever.
                done = self._low_level_execute_command(f"timeout {within} systemctl is-system-running --wait")
                said = done["stdout"].strip() or done["stderr"].strip()
                wrong = boot_fault(name, done["rc"], said, within=within)
                fault = aside.failed(name, LAYER, {"msg": str(wrong)}) if wrong else None
        except AnsibleConnectionFailure as error:
            if group := given["unreachable_group"]:
                return {"add_group": group, "parent_groups": ["all"], "msg": str(error)}
            fault = aside.failed(name, LAYER, {"msg": str(_refused(variables, given, said=str(error)))})
        return aside.result(fault, result) if fault else result


def _refused(variables: dict[str, Any], arguments: dict[str, Any], *, said: str) -> GroundupError:
    return GroundupError(
        f"{variables['inventory_hostname']} does not let the controller in as {arguments['login']}",
        where=" ".join(said.split()),
        why="every layer reaches it by ssh",
        remedy=arguments["remedy"],
    )


def boot_fault(host: str, status: int, said: str, *, within: int) -> GroundupError | None:
    """Return the fault of a boot, from the output of ``systemctl is-system-running --wait``; None if it is fine."""
    if said == "running":
        return None
    endless = status == _TIMED_OUT
    return GroundupError(
        f"the boot of {host} has not ended within {within} s" if endless else f"{host} is {said}, not running",
        where=host,
        why="what the next layers need may not have started",
        remedy=f"see systemctl {'list-jobs' if endless else '--failed'} there, and the journal of the units it lists",
    )
