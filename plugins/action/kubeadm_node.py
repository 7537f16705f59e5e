"""Action of module groundup.cloud.kubeadm_node: add the CA of the recorded cluster, and take the run's lease."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..plugin_utils.errors import GroundupError
from ..plugin_utils.hosts import spared
from ..plugin_utils.kube import run_lease
from ..plugin_utils.kube.access import known_ca


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Run the module on the host with ``expected_ca`` from the controller's record."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        site, warnings = str(arguments.get("site") or ""), []
        try:
            if site and not arguments.get("expected_ca"):
                arguments["expected_ca"] = known_ca(site)
            if site and arguments.get("role") == "control" and not self._task.check_mode:
                warnings = run_lease.of_site(site)
        except GroundupError as error:
            raise AnsibleActionFail(str(error)) from error
        # A control host is never set aside, because the following steps depend on it.
        spare = arguments.get("role") == "worker" and not self._task.check_mode
        done = spared(
            lambda: self._execute_module(module_args=arguments, task_vars=task_vars),
            task_vars or {},
            layer="kubernetes",
            spare=spare,
        )
        if "aside" in done:
            done |= {"joins": False, "due": []}
        if warnings:
            done["warnings"] = [*done.get("warnings", ()), *warnings]
        return result | done
