"""Action of module groundup.cloud.machine_erase: runs on the controller."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.compose import site_plan
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.kube.access import known_nodes
from ..plugin_utils.layers import aside
from ..plugin_utils.metal import erase
from ..plugin_utils.plan.types import Plan


class ActionModule(DocumentedAction):
    """Run one step of an erasure."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result."""
        plan, name = site_plan(given["site_file"]), given["name"]
        wanted = erase.Wanted(
            name=name,
            method=given["method"],
            stays=given["stays"],
            force=frozenset(given["force"]),
            timeout=given["timeout"],
        )
        if given["step"] == "verify":
            return erase.verified(plan, wanted)
        if name:
            _refuse_serving(plan, wanted)
        if given["step"] == "check":
            return erase.foreseen(plan, wanted)
        return erase.carry_out(plan, wanted, self._display.display)


def _refuse_serving(plan: Plan, wanted: erase.Wanted) -> None:
    """Raise GroundupError while the machine serves as a node, hypervisor or storage host."""
    name = wanted.name
    if name in known_nodes(plan.site):
        raise _serves(name, "is a node of the cluster", aside.removal(name))
    if _is_hypervisor(plan, name):
        retire = f"ansible-playbook groundup.cloud.drain -e drain_machine={name}, then groundup.cloud.retire"
        raise _serves(name, "is a hypervisor of the cloud", retire)
    if plan.ceph and name in plan.ceph.locations and erase.OSDS not in wanted.force:
        retire = (
            f"ansible-playbook groundup.cloud.storage_drain -e drain_machine={name}, then groundup.cloud.storage_retire"
        )
        if plan.ceph.backend != "native":
            retire = f"have {plan.ceph.backend} remove its OSDs"
        retire += f", and take it out of the site file; or accept that they are lost: {wanted.accepting(erase.OSDS)}"
        raise _serves(name, f"is a storage host of the site: it has OSDs of {plan.ceph.backend}", retire)


def _is_hypervisor(plan: Plan, name: str) -> bool:
    """Return whether ``name`` has a compute service in the cloud, even if it is not a hypervisor in the site file now.

    Raises GroundupError if the cloud does not answer and the machine may be a hypervisor by the site file.
    """
    if "nova" not in {release.name for release in plan.openstack.releases}:
        return False
    host = plan.hosts.get(name)
    # Imported late: no other task needs a cloud client.
    from ..plugin_utils.cloud import connection
    from ..plugin_utils.cloud.compute_host import look

    remedy = "playbook groundup.cloud.openstack, tag verify; then run it again"
    try:
        with connection.answered("the cloud", remedy=remedy):
            return bool(look(connection.of_site(plan).compute, name).service)
    except GroundupError:
        if host is None or "hypervisor" in host.roles:
            raise
        return False


def _serves(name: str, what: str, remedy: str) -> GroundupError:
    return GroundupError(
        f"{name} {what}",
        where=f"machine {name}",
        why="what runs on it would be lost with its disks; nothing was changed",
        remedy=f"{remedy}; then run this again",
    )
