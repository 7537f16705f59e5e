"""Action of module groundup.cloud.kubeadm_access: store the kubeconfig on the controller, not in results."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ..plugin_utils.errors import GroundupError
from ..plugin_utils.kube import run_lease
from ..plugin_utils.kube.access import check_cluster, differs, keep, known_ca, kubeconfig_path


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Run the module on a control host and remove the kubeconfig from its result."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result without the kubeconfig's content."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        site, host = str(self._task.args["site"]), str(self._task.args["name"])
        try:
            if not self._task.check_mode:
                run_lease.of_site(site)
            arguments = {**self._task.args, "expected_ca": known_ca(site)}
            result |= self._execute_module(module_args=arguments, task_vars=task_vars)
            content = result.pop("content", None)
            if content and not result.get("failed"):
                check_cluster(site, content, host=host)
                written = differs(site, content) if self._task.check_mode else keep(site, content, host=host)
                result["changed"] = bool(result.get("changed")) | written
                if (
                    written and not self._task.check_mode
                ):  # the cluster is new to this controller: take the lease before the first nodes join
                    run_lease.of_site(site)
        except (GroundupError, OSError) as error:
            result |= {"failed": True, "msg": str(error)}
        result["kubeconfig"] = str(kubeconfig_path(site))
        if result.get("failed") and "module_stdout" not in result:
            # `no_log` also hides why it failed; without it, -vvv would show the kubeconfig from the connection.
            # The module's own message has no secret; any other output (module_stdout) may have one.
            self._display.error(f"{self._task.args['name']}: {result['msg']}", wrap_text=False)
        return result
