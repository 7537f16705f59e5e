"""What would change: every release rendered and compared in parallel, and the reasons against it. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from ...helm import manifests
from ...helm import records as live
from ...helm.client import Helm
from ...kube.client import Api
from ...plan.types import Plan, ReleasePlan
from ..apply.limits import Limits
from ..types import ChartError, GateReason, LiveRelease, ObjectChange, ReleaseDiff, Rendered, ref_of
from . import diff
from . import reasons as gate


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The whole change before it happens. All mappings are by release name."""

    rendered: dict[str, Rendered]
    live: dict[str, LiveRelease]
    diffs: dict[str, ReleaseDiff]
    reasons: tuple[GateReason, ...]
    broken: dict[str, ChartError]  # releases whose chart does not render
    compared: bool = False  # whether there was a cluster to compare with

    def unchanged(self, name: str) -> bool:
        """Return whether a release is live exactly as it would be rolled out."""
        before = self.live.get(name)
        if before is None or before.status != "deployed" or name not in self.rendered:
            return False
        return before.digest == self.rendered[name].digest and not self.diffs[name].changes


def make(
    plan: Plan,
    *,
    api: Api | None,
    helm: Helm,
    resolve: Callable[[Mapping[str, Any]], dict[str, Any]],
    limits: Limits,
) -> Survey:
    """Return the survey. ``api`` is None when there is no cluster yet: then everything would be made.

    ``resolve`` puts secrets into values. Raises ApiError when the cluster does not answer.
    """
    found = predict(
        plan.openstack.releases, version=plan.kubernetes.version, api=api, helm=helm, resolve=resolve, limits=limits
    )
    ports = live.node_ports(api) if api and found.compared else {}
    return replace(found, reasons=gate.reasons(plan, found.rendered, found.diffs, found.live, ports))


def predict(
    releases: Sequence[ReleasePlan],
    *,
    version: str,
    api: Api | None,
    helm: Helm,
    resolve: Callable[[Mapping[str, Any]], dict[str, Any]],
    limits: Limits,
) -> Survey:
    """Return what would change, without reasons against it; ``version`` is Kubernetes', without a cluster to ask."""
    version, api_versions = f"v{version}", tuple[str, ...]()
    records: dict[str, LiveRelease] = {}
    discovery = api.discover() if api else None
    if api and discovery:
        version, api_versions = discovery.version, discovery.api_versions()
        found = live.read(api, {release.namespace for release in releases})
        by_place = {(release.namespace, release.name): release.name for release in releases}
        records = {by_place[place]: record for place, record in found.items() if place in by_place}

    def look(release: ReleasePlan) -> tuple[Rendered, ReleaseDiff]:
        with limits.hold("render"):
            text = helm.template(release, resolve(release.values), kube_version=version, api_versions=api_versions)
        where = f"release {release.name}"
        rendered = manifests.split(release.name, release.namespace, manifests.parse(text, where=where))
        # The chart's version is part of what a release is made from, also where no object shows it.
        rendered = replace(rendered, digest=manifests.digest([{"version": release.version}, {"is": rendered.digest}]))
        if api is None or discovery is None:
            return rendered, _all_new(rendered)
        return rendered, diff.against_cluster(api, discovery, rendered, records.get(release.name))

    rendered: dict[str, Rendered] = {}
    diffs: dict[str, ReleaseDiff] = {}
    broken: dict[str, ChartError] = {}
    with ThreadPoolExecutor(max_workers=8, thread_name_prefix="render") as pool:
        for release, future in [(release, pool.submit(look, release)) for release in releases]:
            try:
                rendered[release.name], diffs[release.name] = future.result()
            except ChartError as error:
                broken[release.name] = error
    return Survey(rendered=rendered, live=records, diffs=diffs, broken=broken, reasons=(), compared=bool(discovery))


def _all_new(rendered: Rendered) -> ReleaseDiff:
    objects = [(item, False) for item in rendered.objects] + [(item, True) for item in rendered.hooks]
    return ReleaseDiff(
        release=rendered.release,
        changes=tuple(
            ObjectChange(ref=ref_of(item, namespace=rendered.namespace), kind="create", hook=hook)
            for item, hook in objects
        ),
    )
