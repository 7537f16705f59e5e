"""Releases of the site's own: what they do outside their namespace, and that the namespace is theirs."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...helm.manifests import hook_events
from ...helm.preview import ChangePreview
from ...helm.types import Rendered
from ...kube.client import Api
from ...kube.types import Discovery, ref_of, resource_path
from ...plan.types import Plan, ReleasePlan
from ..types import GateReason, against

# In no namespace, where no cluster tells yet.
_CLUSTER_WIDE = frozenset({
    "APIService", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "IngressClass",
    "MutatingWebhookConfiguration", "Namespace", "PersistentVolume", "PriorityClass", "StorageClass",
    "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
})  # fmt: skip


def reasons_against_extra(
    plan: Plan, preview: ChangePreview, *, api: Api | None, spaces: Collection[str]
) -> Iterator[GateReason]:
    """Yield reasons against them. ``spaces``: namespaces that were made for such releases."""
    extra = [release for release in plan.openstack.releases if release.is_extra]
    for release in extra:
        if live := preview.moved.get(release.name):
            yield against(release.name, "moved")(
                what=f"{release.name} is live in namespace {live.namespace}, and is to be in {release.namespace}",
                why="it would run twice, and its volumes stay where they are",
                remedy=f"write namespace {live.namespace}; or take it out of the site file, remove it, add it again",
            )
        if release.name in preview.rendered:
            yield from _foreign(release, preview.rendered[release.name], preview.discovery)
    for space in {release.namespace: None for release in extra} if api else ():
        if space not in spaces and api and api.find(resource_path("v1", "namespaces", name=space)):
            names = [release.name for release in extra if release.namespace == space]
            yield against(names[0], "namespace-taken")(
                what=f"namespace {space} is there, and no run has made it for {', '.join(names)}",
                why="it gets Pod Security and a network policy, which whatever is in it may not stand",
                remedy="write another namespace, or accept it when nothing else is in there",
            )


def reach(release: ReleasePlan, preview: ChangePreview) -> str:
    """Return a line about what a release makes for the whole cluster, and which hooks it runs; "" for neither."""
    rendered = preview.rendered[release.name]
    wide = sorted({
        f"{item['kind']}/{ref_of(item).name}"
        for item in (*rendered.objects, *rendered.hooks)
        if _is_wide(item, preview.discovery)
    })  # fmt: skip
    hooks = sorted({f"{ref_of(item)} ({', '.join(hook_events(item))})" for item in rendered.hooks})
    said = [f"makes for the whole cluster: {', '.join(wide)}"] if wide else []
    return "; ".join([*said, *([f"runs hooks: {', '.join(hooks)}"] if hooks else [])])


def _foreign(release: ReleasePlan, rendered: Rendered, discovery: Discovery | None) -> Iterator[GateReason]:
    others: dict[str, list[str]] = {}
    for item in (*rendered.objects, *rendered.hooks):
        space = (item.get("metadata") or {}).get("namespace") or release.namespace
        if space != release.namespace and not _is_wide(item, discovery):
            others.setdefault(str(space), []).append(str(ref_of(item)))
    for space, refs in others.items():
        yield against(release.name, "other-namespace")(
            what=f"{release.name} makes {', '.join(sorted(refs))} in namespace {space}",
            why="it is to be in its own: what it makes elsewhere passes that namespace's walls, and is not verified",
            remedy="turn it off by the chart's values, or accept it when that is what it is for",
        )


def _is_wide(item: object, discovery: Discovery | None) -> bool:
    if not isinstance(item, dict):
        return False
    return item.get("kind") in _CLUSTER_WIDE or (discovery is not None and discovery.is_cluster_wide(item))
