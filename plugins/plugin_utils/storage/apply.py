"""Pass the plan's Ceph to its orchestrator: resources for Rook's operator, files for cephadm."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...module_utils._base import files
from ...module_utils._base.changes import Changes
from ...module_utils._base.wait import wait_until
from ...module_utils._plan.ceph import Backend
from ..errors import GroundupError
from ..kube.access import kubeconfig_path
from ..kube.client import Api
from ..kube.objects import Applier, shown, title
from ..kube.types import Discovery
from ..layers.storage import ADMIN
from ..paths import state_dir
from . import cephadm as adm
from . import rook as operator

if TYPE_CHECKING:
    from ...module_utils._plan.ceph import CephPlan
    from ..plan.types import Plan
    from ..vault import Store


# Command that applies each file to an existing cluster.
_TOLD = {
    adm.SPEC: f"cephadm shell -m {adm.SPEC} -- ceph orch apply -i /mnt/{adm.SPEC}",
    adm.CONF: f"cephadm shell -m {adm.CONF} -- ceph config assimilate-conf -i /mnt/{adm.CONF}",
}


def cephadm(changes: Changes, plan: Plan, ceph: CephPlan, store: Store, *, timeout: float) -> None:
    """Write cephadm's files. Raises GroundupError until the secrets store has the cluster's administrator key."""
    del timeout  # there is nothing to wait for
    place = state_dir(plan.site) / "ceph"
    if not changes.check:
        place.mkdir(mode=0o755, parents=True, exist_ok=True)
    texts = {adm.SPEC: adm.text(plan, ceph), adm.CONF: adm.configuration(ceph)}
    written = [name for name, text in texts.items() if files.place(changes, place / name, text)]
    if not store.lacking((ADMIN,)):
        changes.warnings += [
            f"{name} is another than cephadm was told, and this layer does not run it; with {place / name} on "
            f"{ceph.monitors[0].name}: {_TOLD[name]}"
            for name in written
        ]
        return
    fault = GroundupError(
        f"the cluster is not there yet: the secrets store has no {ADMIN}",
        where=f"layer storage, backend cephadm: {ceph.monitors[0].name}; files in {place}",
        why=f"this layer does not run cephadm: its containers are one image, {adm.image(plan)}, which the supply lacks",
        remedy="; ".join(_commands(plan, ceph)),
    )
    if not changes.check:
        raise fault
    changes.warnings.append(str(fault))


def _commands(plan: Plan, ceph: CephPlan) -> tuple[str, ...]:
    first, hosts = ceph.monitors[0], ", ".join(ceph.locations)
    image = adm.image(plan)
    return (
        f"put that image into the registry; copy {adm.SPEC} and {adm.CONF} to {first.name}. There: cephadm --image "
        f"{image} bootstrap --fsid {ceph.fsid} --mon-ip {first.address} --config {adm.CONF}",
        f"cephadm shell -- ceph cephadm get-pub-key (into root's authorized_keys of {hosts})",
        _TOLD[adm.SPEC],
        "cephadm shell -- ceph auth get-key client.admin. Then groundup.cloud.secrets -e @FILE, and in FILE "
        f"secrets_given: {{{ADMIN}: AQ...}}; and run the layer again",
    )


def rook(changes: Changes, plan: Plan, ceph: CephPlan, store: Store, *, timeout: float) -> None:
    """Apply the resources and wait until Rook reports the cluster as ready. Raises GroundupError."""
    kubeconfig = kubeconfig_path(plan.site)
    if changes.check:
        store.ensure(ceph.secrets)
    items = operator.objects(plan, ceph, keys={name: store.get(name) for name in ceph.secrets})
    if changes.check and not kubeconfig.is_file():  # the Kubernetes cluster does not exist yet: all resources are new
        for item in items:
            changes.add(title(item), name=title(item), after=shown(item))
        return
    api = Api(kubeconfig)
    served = api.discover()
    where = served.path(items[-1])
    if where is None:
        raise GroundupError(
            f"the cluster does not know {operator.GROUP}",
            where="layer storage, backend rook: its CustomResourceDefinitions",
            why="nobody would make of them what they say: Rook's operator is not there",
            remedy=f"install its chart rook-ceph into the namespace {operator.NAMESPACE} (its images are not in the "
            "supply), then run the layer again",
        )
    if absent := [one["metadata"]["name"] for one in items if one["kind"] == "Node" and not _there(api, served, one)]:
        raise GroundupError(
            f"the cluster has no node {', '.join(absent)}",
            where="layer storage, backend rook: storage hosts",
            why="OSDs and monitors are pods there",
            remedy="run the playbook groundup.cloud.kubernetes first: with this backend storage hosts are its workers",
        )
    applier = Applier(api)
    for item in items:
        applier.apply(item, changes)
    cluster = next(item for item in items if item["kind"] == "CephCluster")
    path = str(served.path(cluster))

    def pending() -> str:
        status: dict[str, Any] = (api.find(path) or {}).get("status") or {}
        phase = status.get("phase", "no phase")
        return "" if phase == "Ready" else f"{phase}: {status.get('message', '-')}"

    if not changes.check and (said := wait_until(pending, timeout=timeout)):
        raise GroundupError(
            f"Rook does not report the cluster as ready: {said}",
            where=f"layer storage: {title(cluster)}",
            why=f"within {timeout:g} s; without it there are no pools, and services wait",
            remedy=f"kubectl -n {operator.NAMESPACE} describe cephcluster; kubectl -n {operator.NAMESPACE} logs "
            "deploy/rook-ceph-operator",
        )


# Backends with `orchestrated` in their record.
ORCHESTRATORS: dict[Backend, Callable[..., None]] = {"cephadm": cephadm, "rook": rook}


def _there(api: Api, served: Discovery, item: dict[str, Any]) -> bool:
    return api.find(str(served.path(item))) is not None
