"""Action of module groundup.cloud.hypervisor_places: asks Nova and Placement, from the controller."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import finish
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError

ARGUMENTS = {
    "site_file": {"type": "path", "required": True},
    "hosts": {"type": "list", "elements": "str", "required": True},
    "verb": {"type": "str", "choices": ["apply", "verify"], "default": "apply"},
}


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Makes the plan's aggregates, zones and traits."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what was changed."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, given = self.validate_argument_spec(ARGUMENTS)
        if given["verb"] == "verify":
            return finish({"changed": False, **result}, lambda: _verify(given["site_file"], given["hosts"]))
        changes = Changes(check=bool(self._task.check_mode))
        return finish(result, lambda: _converge(given["site_file"], given["hosts"], changes), changes=changes)


def _converge(site_file: str, hosts: list[str], changes: Changes, *, foresee: bool = True) -> dict[str, Any]:
    # Late: nothing else of the layer needs a cloud's client.
    from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import connection, places

    plan = site_plan(site_file)
    try:
        with connection.answered("Nova, Placement", remedy="run the playbook groundup.cloud.openstack, tag verify"):
            places.converge(connection.of_site(plan), plan, changes, presumed=hosts if changes.check else ())
    except connection.UnreachedError:
        if not (changes.check and foresee):
            raise
        places.foresee(plan, changes)  # a dry run of a site whose cloud is not there yet
    return changes.result()


def _verify(site_file: str, hosts: list[str]) -> dict[str, Any]:
    """Return nothing. Raises GroundupError with what is not as the plan says."""
    changes = Changes(check=True)
    _converge(site_file, hosts, changes, foresee=False)
    if changes.done:
        raise GroundupError(
            f"hypervisors are not where the plan has them: to do are {'; '.join(changes.done)}",
            where="Nova and Placement", why="instances that ask for a zone, rack or label come to others, or none",
            remedy="run the playbook groundup.cloud.hypervisor",
        )  # fmt: skip
    return {}
