"""Action of module groundup.cloud.machine_info: what an Ironic knows of machines, from the controller."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions import REACHED_BY, DocumentedAction
from ..plugin_utils.plan import load_site, make_plan


class ActionModule(DocumentedAction):
    """Reads facts of machines."""

    RULES = REACHED_BY

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return facts of one machine or all."""
        # Late: nobody else needs a cloud's client.
        from ..plugin_utils.cloud import baremetal

        plan = make_plan(load_site(given["site_file"])) if given["site_file"] else None
        with baremetal.opened(cloud=given["cloud"], plan=plan) as proxy:
            return {"changed": False, "machines": baremetal.facts(proxy, given["name"])}
