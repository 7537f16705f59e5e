"""Action of module groundup.cloud.machine_info: uses Ironic's API from the controller."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions import REACHED_BY, DocumentedAction
from ..plugin_utils.plan import load_site, make_plan


class ActionModule(DocumentedAction):
    """Read facts of machines."""

    RULES = REACHED_BY

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return facts of one machine or all."""
        # Imported late: no other task needs a cloud client.
        from ..plugin_utils.cloud import baremetal

        plan = make_plan(load_site(given["site_file"])) if given["site_file"] else None
        with baremetal.opened(cloud=given["cloud"], plan=plan) as proxy:
            return {"changed": False, "machines": baremetal.facts(proxy, given["name"])}
