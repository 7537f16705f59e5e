"""Action of module groundup.cloud.provider_networks: uses Neutron's API from the controller."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.compose import site_plan


class ActionModule(DocumentedAction):
    """Create the plan's provider networks in Neutron."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        # Imported late: a site without provider networks needs no cloud client.
        from ..plugin_utils.cloud import connection, providers, subnet_pool
        from ..plugin_utils.cloud.administrator import VERIFY, or_foreseen

        plan, changes = site_plan(given["site_file"]), self.changes
        networks, pool = list(providers.wanted(plan)), plan.ovn.subnet_pool

        def foresee() -> None:
            providers.foresee(networks, changes)
            if pool:
                subnet_pool.foresee(pool, changes)

        if networks or pool:
            with or_foreseen(changes, foresee), connection.answered("Neutron", remedy=VERIFY):
                cloud = connection.of_site(plan)
                mine = str(cloud.current_project_id)
                providers.converge(cloud.network, networks, changes, project=mine)
                if pool:
                    subnet_pool.converge(cloud.network, pool, changes, project=mine)
                if not changes.check:
                    subnet_pool.verify(cloud.network, plan, project=mine)
        told = {"warnings": changes.warnings} if changes.warnings else {}
        return {**changes.result(), **told, "networks": [one.name for one in networks]}
