"""Releases of the site's own: names, needs, namespaces and images. `extra_charts` reads their files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...layers import mirror
from ...layers.mirror import OCI
from ...services import RECORDS
from ..form import choose, error, warning
from ..layout.context import PlanContext
from ..model.openstack import ExtraRelease
from ..platform.extra import copied, namespaces
from ..types import Finding

# Namespaces of what the layers install, beside the cloud's and `kube-*`.
_OURS = (
    "default", "osh-infra", "local-path-storage", "ceph-csi-rbd", "rook-ceph", "cilium-secrets", "tigera-operator",
    "calico-system", "calico-apiserver",
)  # fmt: skip
_LONGEST = 240  # characters: the artifact's name is made of it, and is a directory's
_DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about `openstack.extra_releases`."""
    written = context.site.openstack.extra_releases
    planned = {one.name for one in context.plan.openstack.releases}
    for name, release in written.items():
        key = f"openstack.extra_releases.{name}"
        if name in RECORDS:
            yield error("extra-release-name-taken", key)(
                what=f"{name} is a release of this collection",
                why="both would have one name, in the graph and on the command line",
                remedy="give it another name; values of ours are changed by openstack.overrides",
            )
            continue
        yield from _needs(name, release, planned, written)
        yield from _place(context, name, release)
        yield from _images(context, key, release)
        if release.chart.startswith(OCI) and not _DIGEST.search(release.chart):
            yield error("extra-release-chart-unpinned", f"{key}.chart")(
                what=f"{release.chart} has no digest",
                why="a tag can be moved to other content, which would run in this cluster",
                remedy="append the digest: oci://HOST/PATH@sha256:...",
            )
    if not context.site.supply.registry:
        yield from _one_place(written)
    for namespace, names in namespaces(context.site).items():
        levels = {written[name].pod_security for name in names}
        if len(levels) > 1:
            yield error("extra-release-pod-security", *(f"openstack.extra_releases.{name}" for name in names))(
                what=f"{', '.join(names)} share the namespace {namespace} and want {' and '.join(sorted(levels))}",
                why="a namespace enforces one level of Pod Security",
                remedy="write the same pod_security, or give one of them a namespace of its own",
            )


def _one_place(written: dict[str, ExtraRelease]) -> Iterator[Finding]:
    """Yield images that would have one name in the seed's registry, and are different ones."""
    places: dict[str, dict[str, str]] = {}
    for name, release in written.items():
        for image, reference in copied(release).items():
            places.setdefault(mirror.image(reference), {})[reference] = (
                f"openstack.extra_releases.{name}.images.{image}"
            )
    for place, keys in places.items():
        if len(keys) > 1:
            yield error("extra-release-image-twice", *keys.values())(
                what=f"{len(keys)} different images would be {place} in the seed's registry",
                why="each run would put one in the other's place, and pods may get either",
                remedy="write the same digest, or another tag of one of them",
            )


def _needs(name: str, release: ExtraRelease, planned: set[str], written: dict[str, ExtraRelease]) -> Iterator[Finding]:
    key = f"openstack.extra_releases.{name}.needs"
    known = sorted({*planned, *written} - {name})
    unknown = [need for need in release.needs if need not in known and need != name]
    for need in unknown:
        yield error("extra-release-need-unknown", key)(
            what=f"{name} needs {need}, and the site has no such release",
            why="it would never start",
            remedy=f"add {need} to openstack.services" if need in RECORDS else choose(need, known),
        )
    if not unknown and (circle := _circle(name, written)):
        yield error("extra-release-needs-itself", key)(
            what=f"releases need each other in a circle: {' > '.join(circle)}",
            why="none of them would ever start",
            remedy="take one of these needs away",
        )


def _circle(name: str, written: dict[str, ExtraRelease]) -> list[str]:
    """Return the way from ``name`` back to itself, [] when there is none."""
    ways = [[name]]
    seen = set[str]()
    while ways:
        way = ways.pop(0)
        for need in written[way[-1]].needs if way[-1] in written else ():
            if need == name:
                return [*way, name]
            if need not in seen:
                seen.add(need)
                ways.append([*way, need])
    return []


def _place(context: PlanContext, name: str, release: ExtraRelease) -> Iterator[Finding]:
    key, namespace = f"openstack.extra_releases.{name}", release.namespace or name
    taken = {context.plan.openstack.namespace: "OpenStack's", **dict.fromkeys(_OURS, "the cluster's own")}
    if whose := "Kubernetes' own" if namespace.startswith("kube-") else taken.get(namespace):
        yield error("extra-release-namespace", f"{key}.namespace" if release.namespace else key)(
            what=f"{name} is to be in the namespace {namespace}, which is {whose}",
            why="its pods would stand behind the walls of others, and could read their Secrets",
            remedy=f"write a namespace of its own, such as {name if namespace != name else f'{name}-extra'}",
        )
    if release.pod_security == "privileged":
        yield warning("extra-release-privileged", f"{key}.pod_security")(
            what=f"pods of {name} may do anything on the nodes they run on",
            why="on a node they reach the secrets of every pod there, and on a control host the whole cluster",
            remedy="write baseline if its pods do with it; the rollout says what the API server refuses",
        )


def _images(context: PlanContext, key: str, release: ExtraRelease) -> Iterator[Finding]:
    own = context.site.supply.registry
    for name, reference in release.images.items():
        tag = reference.partition("@")[0].rpartition("/")[2].partition(":")[2]
        if not _DIGEST.search(reference) or tag in ("", "latest"):
            yield error("extra-release-image-unpinned", f"{key}.images.{name}")(
                what=f"{reference} has {'no digest' if not _DIGEST.search(reference) else 'no tag of a release'}",
                why="what is copied must be what was meant, today and when it is copied again",
                remedy="write HOST/PATH:TAG@sha256:DIGEST",
            )
        elif not mirror.FORM.fullmatch(reference) or len(reference) > _LONGEST:
            yield error("extra-release-image-form", f"{key}.images.{name}")(
                what=f"{reference} is no whole reference",
                why="which registry it is copied from would be a guess",
                remedy="write HOST/PATH:TAG@sha256:DIGEST, in lower case; of Docker's registry docker.io/library/NAME",
            )
        elif own and not reference.startswith(f"{own}/"):
            yield error("extra-release-image-elsewhere", f"{key}.images.{name}", "supply.registry")(
                what=f"{reference} is not in {own}",
                why="hosts have no other registry, and a site with one of its own copies nothing",
                remedy=f"copy it there and write {own}/PATH:TAG@sha256:DIGEST",
            )
