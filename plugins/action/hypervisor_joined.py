"""Action of module groundup.cloud.hypervisor_joined: asks the cloud, from the controller."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import finish
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.connection import asker
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.joining import Lack, lacking, look
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.progress import reminder

ARGUMENTS = {
    "site_file": {"type": "path", "required": True},
    "hosts": {"type": "list", "elements": "str", "required": True},
    "timeout": {"type": "int", "default": 180},
}
PAUSE = 3.0  # seconds between two questions


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Waits for what hypervisors do by themselves once their services run."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return who has joined; a host that has not is a failure."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, given = self.validate_argument_spec(ARGUMENTS)
        if self._task.check_mode:
            return result | {"skipped": True, "msg": "nothing was applied: nobody has joined by it"}
        return finish(result, lambda: self._wait(given["site_file"], given["hosts"], given["timeout"]))

    def _wait(self, site_file: str, hosts: list[str], timeout: int) -> dict[str, Any]:
        ask = asker(site_plan(site_file))

        def pending() -> list[Lack]:
            try:
                return lacking(look(ask, hosts), hosts)
            except GroundupError as error:
                why = f"{error.what} ({error.where})"
                return [Lack(host=host, layer="service", reason=why, remedy=error.remedy) for host in hosts]

        with reminder(self._display.display, "[hypervisor] joining"):
            left = wait_until(pending, timeout=timeout, pause=PAUSE)
        away = {one.host for one in left}
        said = [f"{one.host} ({one.layer}): {one.reason}. Remedy: {one.remedy}" for one in left]
        return {
            "changed": False,
            "joined": [host for host in hosts if host not in away],
            "aside": [asdict(one) for one in left],
            **({"failed": True, "msg": "\n".join(said)} if left else {}),
        }
