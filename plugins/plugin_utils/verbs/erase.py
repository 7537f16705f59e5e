"""Erase a machine from power-off: undeploy it, have its ramdisk erase its disks, and have Ironic forget it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, cast

from ...module_utils._base.text import few
from ..errors import GroundupError
from ..kube.access import known_ca, known_nodes, kubeconfig_path
from ..kube.client import Api
from ..kube.nodes import NODES
from ..layers import aside
from ..layers.storage import BOOTSTRAP
from ..metal import erase
from ..metal.confirm import SILENT
from ..metal.erase import Erasure
from ..metal.leave import Method
from ..ovn import record
from ..plan.types import Plan
from . import quorums
from .base import Verb

NOVA = "nova/keystone"  # a secret of every site that has had Nova


class Erase(Verb[Erasure]):
    """Erase one that serves no more: all services are asked before each step. Consents are those of metal/erase.py."""

    name = "erase"
    one = "one machine is erased at a time"
    loses = "its disks are not erased, and nothing says that nobody reads them"
    stays_off = True
    codes = (erase.LOST, erase.DEAD, erase.OSDS, erase.CLUSTER_SILENT, erase.CLOUD_SILENT, erase.OVN_SILENT, SILENT)
    stays: ClassVar[bool] = False  # in Ironic, because it is installed again

    def survey(self) -> Erasure:
        """Return what is wanted. Raises GroundupError for a machine that the seed cannot erase."""
        asked = self.asked
        wanted = Erasure(
            name=asked.machine, method=cast("Method", asked.method or "metadata"), stays=self.stays,
            force=frozenset(asked.force), timeout=asked.timeout or 3600,
        )  # fmt: skip
        erase.refuse_unsuitable(asked.plan, wanted)
        return wanted

    def refuse(self, state: Erasure) -> Erasure:
        """Return ``state``. Raises GroundupError while the machine serves, by the services' own word."""
        ceph = self.asked.plan.ceph
        if ceph and ceph.backend == "native" and erase.OSDS not in state.force:
            self.asked.ceph("erase", check=True)
        refuse_serving(self.asked.plan, state)
        refuse_member(self.asked.plan, state, self.asked.seen)
        return state

    def predict(self, state: Erasure) -> list[str]:
        """Return the actions. Raises GroundupError without consent."""
        return [*_of_ovn(self.asked.plan, self.asked.seen).changes, *erase.foreseen(self.asked.plan, state)["changes"]]

    def facts(self, state: Erasure) -> dict[str, Any]:  # noqa: ARG002  # the same for every machine
        """Return the control host that takes it out of OVN; "" when it is no member."""
        member = _of_ovn(self.asked.plan, self.asked.seen)
        return {"contact": member.contact if member.changes else ""}

    def steps(self) -> Mapping[str, Callable[[Erasure], dict[str, Any]]]:
        return {"erase": self.erase}

    def erase(self, state: Erasure) -> dict[str, Any]:
        """Erase its disks; say where the record is."""
        done = erase.carry_out(self.asked.plan, state, self.asked.say)
        self.asked.say(f"[{self.name}] the record of the erasure is {done['record'] or 'none'}")
        return done

    def remains(self, state: Erasure) -> list[str]:
        """Return whether Ironic still has it."""
        return erase.remains(self.asked.plan, state)

    def next_steps(self) -> str:
        """Return what keeps it from being installed again."""
        return f"Take {self.asked.machine} out of the site file, or a run of the layers installs it again"


def refuse_serving(plan: Plan, wanted: Erasure) -> None:
    """Raise GroundupError while the machine serves as a node, hypervisor or storage host, by the services' own word."""
    name = wanted.name
    retire = f"ansible-playbook groundup.cloud.drain -e machine={name}, then groundup.cloud.retire"
    if _is_node(plan, wanted):
        raise _serves(name, "is a node of the cluster", aside.removal(name))
    if _is_hypervisor(plan, wanted):
        raise _serves(name, "is a hypervisor of the cloud", retire)
    if erase.OSDS in wanted.force:
        return
    if (plan.ceph is None or plan.ceph.backend != "native") and erase.has_had(plan, BOOTSTRAP):
        raise _serves(
            name, "may be a storage host of the Ceph that this site has run, and that has left its site file",
            f"write storage.backend: native again; or, if no OSD of it is needed: {wanted.accepting(erase.OSDS)}",
        )  # fmt: skip
    if plan.ceph and name in plan.ceph.locations:
        if plan.ceph.backend != "native":
            retire = f"have {plan.ceph.backend} remove its OSDs"
        retire += f", and take it out of the site file; or accept that they are lost: {wanted.accepting(erase.OSDS)}"
        raise _serves(name, f"is a storage host of the site: it has OSDs of {plan.ceph.backend}", retire)


def refuse_member(plan: Plan, wanted: Erasure, seen: Mapping[str, Any]) -> None:
    """Raise GroundupError while etcd counts it, or OVN cannot do without it, by what other control hosts said."""
    etcd, ovn = quorums.of_etcd(seen.get("etcd") or ()), _of_ovn(plan, seen)
    if etcd.changes:
        raise _serves(wanted.name, "is a member of etcd", aside.removal(wanted.name))
    # Where no cluster of OVN is on record, and no host answers at all, it is the same silence: one consent.
    heard = any(not one.get("unreachable") for one in seen.get("ovn") or ())
    unheard = erase.OVN_SILENT if heard or record.known(plan.site) else erase.CLUSTER_SILENT
    for who, member, code, layer in (
        ("etcd", etcd, erase.CLUSTER_SILENT, "kubernetes"), ("OVN", ovn, unheard, "network"),
    ):  # fmt: skip
        if member.unknown and code not in wanted.force:
            error = GroundupError(member.unknown, where="the other control hosts", why="", remedy="")
            raise _silent(wanted, who, code, error, layer)


def _of_ovn(plan: Plan, seen: Mapping[str, Any]) -> quorums.QuorumWord:
    return quorums.of_ovn(seen.get("ovn") or (), recorded=bool(record.known(plan.site)))


def _is_node(plan: Plan, wanted: erase.Erasure) -> bool:
    """Return whether the Kubernetes API has a Node of the machine's name.

    Raises GroundupError if it does not answer, names no node at all, or lacks one that this controller's record has
    (as after a restore of etcd), and that is not accepted.
    """
    fault, names, recorded = None, set[str](), False
    try:
        recorded = wanted.name in known_nodes(plan.site)
        known_ca(plan.site)  # refuses a kubeconfig of another cluster
        found = Api(kubeconfig_path(plan.site)).get(NODES).get("items") or ()
        names = {str(one["metadata"]["name"]) for one in found}
    except GroundupError as error:
        fault = error
    unsure = not names or (recorded and wanted.name not in names)
    if unsure and erase.CLUSTER_SILENT not in wanted.force:
        known = " (by this controller's record it is a node of the cluster)" * recorded
        raise _silent(
            wanted, "the cluster", erase.CLUSTER_SILENT, fault, "kubernetes", known=known, named=names
        ) from fault
    return wanted.name in names


def _is_hypervisor(plan: Plan, wanted: erase.Erasure) -> bool:
    """Return whether the machine has a compute service in the cloud, whatever the site file says of its roles.

    Raises GroundupError if the cloud does not answer, and that is not accepted. A Nova that has left the site file
    still has its hypervisors; one that names none, and is to have some, is not the one that knows.
    """
    if "nova" not in {release.name for release in plan.openstack.releases} and not erase.has_had(plan, NOVA):
        return False
    # Imported late: a site without Nova needs no cloud client.
    from ..cloud import connection
    from ..cloud.compute_host import COMPUTE, look

    try:
        with connection.answered("the cloud"):
            found = look(connection.of_site(plan).compute, wanted.name)
    except GroundupError as error:
        if erase.CLOUD_SILENT not in wanted.force:
            raise _silent(wanted, "the cloud", erase.CLOUD_SILENT, error, "openstack") from error
        return False
    unsure = not found.hypervisors and any("hypervisor" in host.roles for host in plan.hosts.values())
    if unsure and erase.CLOUD_SILENT not in wanted.force:
        none = GroundupError(
            f"Nova names no {COMPUTE}, and the site file has hypervisors",
            where="openstack compute service list", why="", remedy="",
        )  # fmt: skip
        raise _silent(wanted, "the cloud", erase.CLOUD_SILENT, none, "openstack")
    return bool(found.service)


def _silent(
    wanted: erase.Erasure, who: str, code: str, error: GroundupError | None, layer: str, *,
    known: str = "", named: Collection[str] = (),
) -> GroundupError:  # fmt: skip
    said = error.what if error else f"it names {few(sorted(named))}" if named else "it names none"
    return GroundupError(
        f"{who} does not say whether it uses {wanted.name}{known}: {said}",
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


VERB = Erase
