"""Action of module groundup.cloud.machine_erase: runs on the controller."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.compose import site_plan
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.kube.access import known_ca, known_nodes, kubeconfig_path
from ..plugin_utils.kube.client import Api
from ..plugin_utils.kube.nodes import NODES
from ..plugin_utils.layers import aside
from ..plugin_utils.metal import erase
from ..plugin_utils.plan.types import Plan


class ActionModule(DocumentedAction):
    """Run one step of an erasure."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result."""
        plan = site_plan(given["site_file"])
        wanted = erase.Erasure(
            name=given["name"],
            method=given["method"],
            stays=given["stays"],
            force=frozenset(given["force"]),
            timeout=given["timeout"],
        )
        if given["step"] == "verify":
            return erase.verified(plan, wanted)
        erase.refuse_unsuitable(plan, wanted)
        _refuse_serving(plan, wanted)
        if given["step"] == "check":
            return erase.foreseen(plan, wanted)
        return erase.carry_out(plan, wanted, self._display.display)


def _refuse_serving(plan: Plan, wanted: erase.Erasure) -> None:
    """Raise GroundupError while the machine serves as a node, hypervisor or storage host, by the services' own word."""
    name = wanted.name
    if _is_node(plan, wanted):
        raise _serves(name, "is a node of the cluster", aside.removal(name))
    if _is_hypervisor(plan, wanted):
        retire = f"ansible-playbook groundup.cloud.drain -e machine={name}, then groundup.cloud.retire"
        raise _serves(name, "is a hypervisor of the cloud", retire)
    if plan.ceph and name in plan.ceph.locations and erase.OSDS not in wanted.force:
        retire = (
            f"ansible-playbook groundup.cloud.storage_drain -e drain_machine={name}, then groundup.cloud.storage_retire"
        )
        if plan.ceph.backend != "native":
            retire = f"have {plan.ceph.backend} remove its OSDs"
        retire += f", and take it out of the site file; or accept that they are lost: {wanted.accepting(erase.OSDS)}"
        raise _serves(name, f"is a storage host of the site: it has OSDs of {plan.ceph.backend}", retire)


def _is_node(plan: Plan, wanted: erase.Erasure) -> bool:
    """Return whether the Kubernetes API has a Node of the machine's name.

    Raises GroundupError if it does not answer, or names no node at all, and that is not accepted.
    """
    fault, names = None, set[str]()
    try:
        known_ca(plan.site)  # refuses a kubeconfig of another cluster
        found = Api(kubeconfig_path(plan.site)).get(NODES).get("items") or ()
        names = {str(one["metadata"]["name"]) for one in found}
    except GroundupError as error:
        fault = error
    if not names and erase.CLUSTER_SILENT not in wanted.force:
        known = " (by this controller's record it is a node of the cluster)" * (wanted.name in known_nodes(plan.site))
        raise _silent(wanted, "the cluster", erase.CLUSTER_SILENT, fault, "kubernetes", known=known) from fault
    return wanted.name in names


def _is_hypervisor(plan: Plan, wanted: erase.Erasure) -> bool:
    """Return whether the machine has a compute service in the cloud, whatever the site file says of its roles.

    Raises GroundupError if the cloud does not answer, and that is not accepted.
    """
    if "nova" not in {release.name for release in plan.openstack.releases}:
        return False
    # Imported late: no other task needs a cloud client.
    from ..plugin_utils.cloud import connection
    from ..plugin_utils.cloud.compute_host import look

    try:
        with connection.answered("the cloud"):
            return bool(look(connection.of_site(plan).compute, wanted.name).service)
    except GroundupError as error:
        if erase.CLOUD_SILENT not in wanted.force:
            raise _silent(wanted, "the cloud", erase.CLOUD_SILENT, error, "openstack") from error
        return False


def _silent(
    wanted: erase.Erasure, who: str, code: str, error: GroundupError | None, layer: str, *, known: str = ""
) -> GroundupError:
    return GroundupError(
        f"{who} does not say whether it uses {wanted.name}{known}: {error.what if error else 'it names none'}",
        where=f"machine {wanted.name}; {error.where if error else f'{who} itself'}",
        why="what runs on it would be lost with its disks; nothing was changed",
        remedy=f"make it answer (playbook groundup.cloud.{layer}, tag verify), then run this again; or, if nothing of "
        f"{who} is on it: {wanted.accepting(code)}",
    )


def _serves(name: str, what: str, remedy: str) -> GroundupError:
    return GroundupError(
        f"{name} {what}",
        where=f"machine {name}",
        why="what runs on it would be lost with its disks; nothing was changed",
        remedy=f"{remedy}; then run this again",
    )
