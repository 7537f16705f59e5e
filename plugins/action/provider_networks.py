"""Action of module groundup.cloud.provider_networks: uses Neutron's API from the controller."""

from __future__ import annotations

from typing import Any

from ..module_utils._base.changes import Changes
from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.compose import site_plan
from ..plugin_utils.errors import GroundupError


class ActionModule(DocumentedAction):
    """Create the plan's provider networks in Neutron."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the changes."""
        return _converge(given["site_file"], self.changes)


def _converge(site_file: str, changes: Changes) -> dict[str, Any]:
    # Imported late: a site without provider networks needs no cloud client.
    from ..plugin_utils.cloud import connection, providers, subnet_pool

    plan = site_plan(site_file)
    networks, pool = list(providers.wanted(plan)), plan.ovn.subnet_pool
    if networks or pool:
        try:
            with connection.answered("Neutron", remedy="run the playbook groundup.cloud.openstack, tag verify"):
                cloud = connection.of_site(plan)
                mine = str(cloud.current_project_id)
                providers.converge(cloud.network, networks, changes, project=mine)
                if pool:
                    subnet_pool.converge(cloud.network, pool, changes, project=mine)
                if not changes.check:
                    subnet_pool.verify(cloud.network, plan, project=mine)
        except GroundupError as error:
            # A dry run before the cloud exists. A conflict with the plan reported by Neutron is still an error.
            if not changes.check or not isinstance(error, connection.UnreachedError):
                raise
            providers.foresee(networks, changes)
            if pool:
                subnet_pool.foresee(pool, changes)
    told = {"warnings": changes.warnings} if changes.warnings else {}
    return {**changes.result(), **told, "networks": [one.name for one in networks]}
