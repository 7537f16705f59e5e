"""Action of module groundup.cloud.kubeadm_leave: add the CA of the recorded cluster."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

from ..plugin_utils.errors import GroundupError
from ..plugin_utils.kube.access import known_ca


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Run the module on the host with ``expected_ca`` from the controller's record."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        try:
            arguments.setdefault("expected_ca", known_ca(str(arguments["site"])) if arguments.get("site") else None)
        except GroundupError as error:
            raise AnsibleActionFail(str(error)) from error
        try:
            result |= self._execute_module(module_args=arguments, task_vars=task_vars)
        except AnsibleConnectionFailure as error:
            if not arguments.get("member"):
                raise  # a machine that leaves may be dead
            result |= {"failed": True, "msg": str(_silent(arguments, error))}
        return result


def _silent(arguments: dict[str, Any], error: Exception) -> GroundupError:
    return GroundupError(
        f"{arguments['name']} cannot be reached: {' '.join(str(error).split())}",
        where=f"host {arguments['name']}, a control host that stays",
        why=f"the etcd member of {arguments['member']} is removed from there",
        remedy="bring it back, then run this again",
    )
