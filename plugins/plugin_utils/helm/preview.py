"""Preview a change: render every release and compare it with the cluster, in parallel. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import BoundedSemaphore
from typing import Any

from ..kube.client import Api
from ..kube.types import Discovery, ref_of
from ..plan.types import ReleasePlan
from . import manifests, records
from .client import Helm
from .diff import against_cluster, hook_changes, running
from .types import ChartError, LiveRelease, ObjectChange, ReleaseDiff, Rendered


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePreview:
    """The predicted change. All mappings are by release name."""

    rendered: dict[str, Rendered]
    live: dict[str, LiveRelease]
    diffs: dict[str, ReleaseDiff]
    broken: dict[str, ChartError]  # releases whose chart does not render
    retired: dict[str, LiveRelease] = field(default_factory=dict)  # ours, in the same namespaces, no longer wanted
    moved: dict[str, LiveRelease] = field(default_factory=dict)  # ours, wanted in another namespace
    discovery: Discovery | None = None  # what the cluster serves; None: there is none yet

    def unchanged(self, name: str) -> bool:
        """Return whether a release is live exactly as it would be rolled out."""
        before = self.live.get(name)
        if before is None or before.status != "deployed" or name not in self.rendered:
            return False
        return before.digest == self.rendered[name].digest and not self.diffs[name].changes


def preview(
    releases: Sequence[ReleasePlan],
    *,
    version: str,
    api: Api | None,
    helm: Helm,
    resolve: Callable[[Mapping[str, Any]], dict[str, Any]],
    renders: int = 4,
    namespaces: Iterable[str] = (),
) -> ChangePreview:
    """Return what would change. Raises ApiError when the cluster does not answer.

    ``version``: of Kubernetes, for charts rendered before there is a cluster. ``api`` is None before there is one: then
    everything is new. ``resolve`` puts secrets into values. ``renders``: charts rendered at once; each keeps a core
    busy. ``namespaces``: further ones to search for releases of ours that are no longer wanted.
    """
    version, api_versions = f"v{version}", tuple[str, ...]()
    live, retired, moved = dict[str, LiveRelease](), dict[str, LiveRelease](), dict[str, LiveRelease]()
    rendering = BoundedSemaphore(renders)
    discovery = api.discover() if api else None
    if api and discovery:
        version, api_versions = discovery.version, discovery.api_versions()
        found = records.read(api, {*namespaces, *(release.namespace for release in releases)})
        spaces = {release.name: release.namespace for release in releases}
        for (space, name), record in found.items():
            if spaces.get(name) == space:
                live[name] = record
            elif record.digest:  # our label is on it
                (moved if name in spaces else retired)[name] = record

    def look(release: ReleasePlan) -> tuple[Rendered, ReleaseDiff]:
        with rendering:
            text = helm.template(release, resolve(release.values), kube_version=version, api_versions=api_versions)
        where = f"release {release.name}"
        rendered = manifests.split(release.name, release.namespace, manifests.parse(text, where=where))
        # A new chart version is a change, even when no object shows it.
        rendered = replace(rendered, digest=manifests.digest([{"version": release.version}, {"is": rendered.digest}]))
        before = live.get(release.name)
        if api is None or discovery is None:
            diff = _all_new(rendered)
        else:
            diff = against_cluster(api, discovery, rendered, before)
        hooks = tuple(ref_of(hook, namespace=release.namespace) for hook in running(rendered.hooks, before))
        return rendered, replace(diff, chart=(before.chart_version if before else "", release.version), hooks=hooks)

    rendered: dict[str, Rendered] = {}
    diffs: dict[str, ReleaseDiff] = {}
    broken: dict[str, ChartError] = {}
    with ThreadPoolExecutor(max_workers=8, thread_name_prefix="render") as pool:
        for release, future in [(release, pool.submit(look, release)) for release in releases]:
            try:
                rendered[release.name], diffs[release.name] = future.result()
            except ChartError as error:
                broken[release.name] = error
    return ChangePreview(
        rendered=rendered, live=live, diffs=diffs, broken=broken, retired=retired, moved=moved, discovery=discovery
    )


def _all_new(rendered: Rendered) -> ReleaseDiff:
    objects = (ObjectChange(ref=ref_of(item, namespace=rendered.namespace), kind="create") for item in rendered.objects)
    return ReleaseDiff(release=rendered.release, changes=(*objects, *hook_changes(rendered, None)))
