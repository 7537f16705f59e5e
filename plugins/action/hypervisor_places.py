"""Action of module groundup.cloud.hypervisor_places: uses the APIs of Nova and Placement from the controller."""

from __future__ import annotations

from typing import Any

from ..module_utils._base.changes import Changes
from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.compose import site_plan
from ..plugin_utils.errors import GroundupError


class ActionModule(DocumentedAction):
    """Create the plan's aggregates, zones and traits."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the changes."""
        if given["verb"] == "verify":
            return _verify(given["site_file"], given["hosts"])
        return _converge(given["site_file"], given["hosts"], self.changes)


def _converge(site_file: str, hosts: list[str], changes: Changes, *, foresee: bool = True) -> dict[str, Any]:
    # Imported late: nothing else in the layer needs a cloud client.
    from ..plugin_utils.cloud import connection, places

    plan = site_plan(site_file)
    try:
        with connection.answered("Nova, Placement", remedy="run the playbook groundup.cloud.openstack, tag verify"):
            places.converge(connection.of_site(plan), plan, changes, presumed=hosts if changes.check else ())
    except connection.UnreachedError:
        if not (changes.check and foresee):
            raise
        places.foresee(plan, changes)  # a dry run before the cloud exists
    return changes.result()


def _verify(site_file: str, hosts: list[str]) -> dict[str, Any]:
    """Return no change. Raises GroundupError with the differences from the plan."""
    changes = Changes(check=True)
    _converge(site_file, hosts, changes, foresee=False)
    if changes.done:
        raise GroundupError(
            f"hypervisors are not where the plan has them: to do are {'; '.join(changes.done)}",
            where="Nova and Placement", why="instances that ask for a zone, rack or label come to others, or none",
            remedy="run the playbook groundup.cloud.hypervisor",
        )  # fmt: skip
    return {"changed": False}
