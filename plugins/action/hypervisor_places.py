"""Action of module groundup.cloud.hypervisor_places: asks Nova and Placement, from the controller."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import finish
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan

ARGUMENTS = {
    "site_file": {"type": "path", "required": True},
    "hosts": {"type": "list", "elements": "str", "required": True},
}


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Makes the plan's aggregates, zones and traits."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what was changed."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, given = self.validate_argument_spec(ARGUMENTS)
        changes = Changes(check=bool(self._task.check_mode))
        return finish(result, lambda: _converge(given["site_file"], given["hosts"], changes), changes=changes)


def _converge(site_file: str, hosts: list[str], changes: Changes) -> dict[str, Any]:
    # Late: nothing else of the layer needs a cloud's client.
    from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import connection, places

    plan = site_plan(site_file)
    try:
        with connection.answered("Nova, Placement", remedy="run the playbook groundup.cloud.openstack, tag verify"):
            places.converge(connection.of_site(plan), plan, changes, presumed=hosts if changes.check else ())
    except connection.UnreachedError:
        if not changes.check:
            raise
        places.foresee(plan, changes)  # a dry run of a site whose cloud is not there yet
    return changes.result()
