"""Namespaces of the site's own releases: Pod Security, and a policy that keeps others away from their pods.

Pods of OpenStack are behind policies of their own, which admit no other namespace but at published ports.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ....module_utils._base.changes import Changes
from ...kube.client import Api
from ...kube.objects import Applier, in_order, shown, title
from ...kube.types import Object
from ...plan.types import Plan
from ...services.sizes import SMALL

EXTRA = "groundup.cloud/extra-releases"  # label of such a namespace
_SHARE = "20m"  # CPU request of a container: its weight
_NAMESPACES = "/api/v1/namespaces"
_NAME = "kubernetes.io/metadata.name"  # label that the API server gives every namespace
_ORDER = ("privileged", "baseline", "restricted")


def place(api: Api | None, plan: Plan, changes: Changes) -> None:
    """Create or update them. ``api``: None in a prediction before there is a cluster. Raises ApiError."""
    items = [*weights(plan), *objects(plan)]
    applier = Applier(api) if api and items else None
    for item in in_order(items):
        if applier is None:
            changes.add(title(item), name=title(item), after=shown(item))
        else:
            applier.apply(item, changes)


def named(api: Api) -> list[str]:
    """Return the namespaces that were made for releases of the site's own, whether it still has them or not."""
    found = api.get(_NAMESPACES, labelSelector=EXTRA).get("items") or ()
    return sorted(str(item["metadata"]["name"]) for item in found)


def forgotten(spaces: Collection[str], *, wanted: Collection[str], live: Collection[str]) -> Iterator[str]:
    """Yield a line for each namespace without a release: in none of ``wanted``, and in none that is ``live``."""
    for name in sorted(set(spaces) - set(wanted) - set(live)):
        yield (
            f"namespace {name} has no release any more, and stays with its volume claims and Secrets; "
            f"to remove it with them: kubectl delete namespace {name}"
        )


def weights(plan: Plan) -> Iterator[Object]:
    """Yield what gives pods without CPU requests a weight.

    Without one, all such pods of a node together weigh as much as 2 millicores, and wait for whatever else is busy.
    """
    if plan.profile in SMALL:
        yield {
            "apiVersion": "v1",
            "kind": "LimitRange",
            "metadata": {"name": "groundup", "namespace": plan.openstack.namespace},
            "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": _SHARE}}]},
        }


def objects(plan: Plan) -> Iterator[Object]:
    """Yield each namespace and its policy."""
    extra = [release for release in plan.openstack.releases if release.is_extra]
    spaces = {release.name: release.namespace for release in extra}
    for space in dict.fromkeys(spaces.values()):
        here = {
            release.name: plan.openstack.extra_releases[release.name] for release in extra if release.namespace == space
        }
        level = min((one.pod_security for one in here.values()), key=_ORDER.index)
        clients = {spaces[one.name] for one in extra if set(one.needs) & here.keys()} - {space}
        ports = sorted({port for one in here.values() for port in one.ports})
        yield {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": space,
                "labels": {
                    "app.kubernetes.io/managed-by": "groundup",
                    EXTRA: "true",
                    "pod-security.kubernetes.io/enforce": level,
                    "pod-security.kubernetes.io/warn": "restricted" if level == "baseline" else level,
                },
            },
        }
        rules: list[Object] = [{"from": [{"podSelector": {}}]}]
        if clients:
            rules.append({"from": [{"namespaceSelector": {"matchLabels": {_NAME: one}}} for one in sorted(clients)]})
        if ports:
            rules.append({"ports": [{"protocol": "TCP", "port": port} for port in ports]})
        yield {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": "groundup", "namespace": space},
            "spec": {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": rules},
        }
