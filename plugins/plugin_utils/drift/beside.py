"""What no dry run of a layer sees: rows of `status`, workloads that are nobody's, who changed an object."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..kube.access import kubeconfig_path
from ..kube.client import Api
from ..kube.objects import MANAGER, RESTARTS
from ..kube.types import Object, resource_path
from ..plan.types import Plan
from ..status.rows import Parts
from .rows import DriftRow

# Parts of `status` that tell of the site beside its file. Health of the others is an alert's, no drift.
_TOLD = frozenset(("nodes", "hypervisors", "certificates", "backups", "versions", "machines"))
_LAYERS = {"hosts": "host", "virtual_ip": "kubernetes", "nodes": "kubernetes", "releases": "openstack",
           "ceph": "storage", "ovn": "network", "hypervisors": "hypervisor", "machines": "ironic"}  # fmt: skip
_OURS = frozenset((MANAGER, RESTARTS, "helm"))
_WORKLOADS = ("daemonsets", "deployments", "statefulsets")
_RELEASE = "meta.helm.sh/release-name"
_NAMED = re.compile(r"^(?:(?P<release>[\w-]+): )?(?P<kind>[A-Z]\w+)[/ ](?:(?P<space>[\w.-]+)/)?(?P<name>[\w.-]+)")


def of_status(plan: Plan, parts: Parts) -> Iterator[DriftRow]:
    """Yield what is not as the site file has it, by the state of the site; all else that could not be asked."""
    for part, rows in parts.items():
        for row in rows:
            unknown = row.state == "unknown"
            # What is wrong on a host, its dry run says. Without a timer, nobody promised a backup.
            bad = row.state == "not made" if part == "hosts" else row.state != "ok" and part in _TOLD
            if unknown or (bad and (part != "backups" or plan.backups.schedule)):
                layer = _LAYERS.get(part, part)
                yield DriftRow(layer=layer, host=row.name, what=row.what, remedy=row.remedy, unknown=unknown)


def nobodys(plan: Plan, items: Sequence[Object]) -> Iterator[DriftRow]:
    """Yield the workloads of OpenStack's namespace that no release of the site has."""
    releases = {one.name for one in plan.openstack.releases}
    for item in items:
        meta = item["metadata"]
        owner = (meta.get("annotations") or {}).get(_RELEASE, "")
        if owner not in releases:
            of = f"release {owner}, which is not in the site file" if owner else "no release of the site"
            name = f"{item['kind']}/{meta['name']}"
            yield DriftRow(
                layer="openstack", host="localhost", what=f"{name} of {of}", by=changed_by(item, ours=()),
                remedy=f"kubectl -n {meta['namespace']} delete {name}, when nobody needs it",
            )  # fmt: skip


def changed_by(item: Object, *, ours: frozenset[str] | tuple[()] = _OURS) -> str:
    """Return who last wrote to an object and when, but for ``ours`` and its status; "" for nobody."""
    found = [
        (str(one.get("time", "")), str(one["manager"]))
        for one in item["metadata"].get("managedFields") or ()
        if one["manager"] not in ours and one.get("subresource") != "status"
    ]
    return "{1}, {0}".format(*max(found)) if found else ""


def asked(plan: Plan, rows: Sequence[DriftRow]) -> list[DriftRow]:
    """Return ``rows`` with who changed the objects among them, and what is nobody's. Raises ApiError."""
    kubeconfig = kubeconfig_path(plan.site)
    if not kubeconfig.is_file():
        return list(rows)
    api, space = Api(kubeconfig, timeout=5.0, patience=0), plan.openstack.namespace
    kinds = reversed(api.discover().resources.items())  # of two with one name, the first
    plurals = {kind: (version, plural, of) for (version, kind), (plural, of) in kinds}
    cluster = (*plan.kubernetes.cni.releases, *plan.kubernetes.storage_releases)
    spaces = {one.name: one.namespace for one in (*cluster, *plan.openstack.releases)}

    def by(text: str) -> str:
        found = _NAMED.match(text)
        if not found or found["kind"] not in plurals:
            return ""
        version, plural, namespaced = plurals[found["kind"]]
        place = found["space"] or spaces.get(found["release"] or "", space)
        item = api.find(resource_path(version, plural, namespace=place if namespaced else None, name=found["name"]))
        return changed_by(item) if item else ""

    items = [
        {"kind": kind, **item}
        for kind, (version, plural, _) in plurals.items()
        if version == "apps/v1" and plural in _WORKLOADS
        for item in api.get(resource_path(version, plural, namespace=space)).get("items") or ()
    ]
    told = [replace(row, by=by(row.what)) if not (row.by or row.unknown) else row for row in rows]
    return [*told, *nobodys(plan, items)]
