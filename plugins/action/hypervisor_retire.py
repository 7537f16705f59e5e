"""Action of module groundup.cloud.hypervisor_retire: uses the cloud's API from the controller."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.compose import site_plan
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.hypervisor.configuration import compute_id
from ..plugin_utils.verbs.base import named


class ActionModule(DocumentedAction):
    """Run one step of a retirement."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result."""
        # Imported late: no other task needs a cloud client.
        from ..plugin_utils.cloud import connection

        named("retire", given["name"], why="one hypervisor is retired at a time")
        plan = site_plan(given["site_file"])
        with connection.answered(
            "the cloud", remedy="playbook groundup.cloud.openstack, tag verify; then run it again"
        ):
            return self._step(connection.of_site(plan), plan.site, given)

    def _step(self, cloud: Any, site: str, given: dict[str, Any]) -> dict[str, Any]:
        from ..plugin_utils.cloud import compute_host, retire

        name, step = given["name"], given["step"]

        def survey() -> retire.Leaving:
            return retire.survey(cloud, name, compute_id=compute_id(site, name))

        def empty() -> retire.Leaving:
            found = survey()
            compute_host.refuse("retire", name, retire.reasons(found), given["force"])
            return found

        if step == "verify":
            return _verified(name, retire.remains(survey()))
        leaving = empty()
        if step == "check" or self.changes.check:
            lines = retire.foreseen(leaving)
            if not leaving.found:
                _refuse_other_role(name, given["roles"])
                self._display.display(f"[retire] the cloud knows nothing of {name}")
            address = "" if leaving.address in given["addresses"] else leaving.address
            evacuated = bool(leaving.host.evacuated)
            return {"changed": bool(lines), "changes": lines, "address": address, "evacuated": evacuated}
        if step == "close":
            done = compute_host.disable(cloud.compute, leaving.host, compute_host.RETIRE)
            empty()  # an instance that was migrating before has arrived now
            return {"changed": bool(done), "changes": done}
        if not given["stopped"] and not retire.settle(cloud.compute, name, timeout=given["timeout"]):
            raise GroundupError(
                f"{name} cannot be reached, and its {compute_host.COMPUTE} reports to Nova",
                where=f"hypervisor {name}",
                why="it would come back by itself as soon as it is out",
                remedy="make it reachable, or switch it off, then run this again",
            )
        retire.remove(cloud, empty(), self.changes, timeout=given["timeout"])  # checked again after the wait
        return self.changes.result()


def _refuse_other_role(name: str, roles: list[str]) -> None:
    """Raise GroundupError for a machine of the site file that is not a hypervisor."""
    if roles and "hypervisor" not in roles:
        raise GroundupError(
            f"{name} is no hypervisor: the cloud knows nothing of it, and its roles are {', '.join(roles)}",
            where="the variable retire_machine",
            why="what runs on it would be stopped",
            remedy="name a hypervisor; a node of the cluster leaves by the playbook groundup.cloud.remove",
        )


def _verified(name: str, left: list[str]) -> dict[str, Any]:
    if left:
        raise GroundupError(
            f"the cloud still has of {name}: {', '.join(left)}",
            where=f"hypervisor {name}",
            why="the scheduler or OVN would go on with it",
            remedy=f"ansible-playbook groundup.cloud.retire -e retire_machine={name}; are its services stopped",
        )
    return {"changed": False, "changes": []}
