"""Action of module groundup.cloud.hypervisor_leftover: uses the cloud's API from the controller."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.cloud.connection import asker
from ..plugin_utils.cloud.leftover import look
from ..plugin_utils.compose import site_plan
from ..plugin_utils.errors import GroundupError


class ActionModule(DocumentedAction):
    """Find hypervisors in the cloud that are not in the site file."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return them; the callback shows them as a table at the end of the run."""
        try:
            ask = asker(site_plan(given["site_file"]))
            found = look(ask, hypervisors=given["hypervisors"], machines=given["machines"])
        except (GroundupError, OSError) as error:
            if not self._task.check_mode:
                raise
            # A dry run, and the cloud does not exist yet or does not answer: its hypervisors are unknown.
            return {"changed": False, "leftover": [], "msg": f"the cloud was not asked: {str(error).splitlines()[0]}"}
        return {
            "changed": False,
            "leftover": [asdict(one) for one in found.leftover],
            "warnings": [one.advice for one in (*found.leftover, *found.disabled)],
        }
