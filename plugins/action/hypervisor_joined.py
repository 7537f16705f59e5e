"""Action of module groundup.cloud.hypervisor_joined: uses the cloud's API from the controller."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..module_utils._base.wait import wait_until
from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.cloud.connection import asker
from ..plugin_utils.cloud.joining import lacking, look
from ..plugin_utils.compose import site_plan
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.layers.aside import Aside
from ..plugin_utils.progress import reminder

PAUSE = 3.0  # seconds between two checks


class ActionModule(DocumentedAction):
    """Wait until hypervisors with running services have joined the cloud."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the hosts that have joined; fail if one has not."""
        if self._task.check_mode:
            return {"skipped": True, "msg": "nothing was applied: nobody has joined by it"}
        ask, hosts = asker(site_plan(given["site_file"])), given["hosts"]

        def pending() -> list[Aside]:
            try:
                return lacking(look(ask, hosts), hosts)
            except GroundupError as error:
                why = f"{error.what} ({error.where})"
                return [Aside(host=host, layer="service", reason=why, remedy=error.remedy) for host in hosts]

        with reminder(self._display.display, "[hypervisor] joining"):
            left = wait_until(pending, timeout=given["timeout"], pause=PAUSE)
        away = {one.host for one in left}
        said = [f"{one.host} ({one.layer}): {one.reason}. Remedy: {one.remedy}" for one in left]
        return {
            "changed": False,
            "joined": [host for host in hosts if host not in away],
            "aside": [asdict(one) for one in left],
            **({"failed": True, "msg": "\n".join(said)} if left else {}),
        }
