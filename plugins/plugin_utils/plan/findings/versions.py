"""Versions: chart, image and release belong to one tested set, and all are pinned."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..form import error, warning
from ..layout.context import PlanContext
from ..platform import versions
from ..types import Finding

_DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about versions of Kubernetes, OpenStack, charts and images."""
    yield from _matrix(context)
    yield from _charts(context)
    yield from _images(context)


def _matrix(context: PlanContext) -> Iterator[Finding]:
    for key, value, known in (
        ("kubernetes.version", context.site.kubernetes.version, versions.KUBERNETES),
        ("openstack.release", context.site.openstack.release, versions.OPENSTACK),
    ):
        if value not in known:
            yield error("version-not-in-matrix", key)(
                what=f"{value} was never built and tested with this version of the collection",
                why="the versions of etcd, CoreDNS, charts and images beside it are unknown",
                remedy=f"one of: {', '.join(known)}",
            )


def _charts(context: PlanContext) -> Iterator[Finding]:
    written = context.site.openstack
    matrix = versions.nearest_openstack(written.release).charts
    known = versions.OPENSTACK.get(written.release)
    if written.charts != "builtin" and known and not known.official:
        others = ", ".join(name for name, one in versions.OPENSTACK.items() if one.official)
        yield error("release-without-charts", "openstack.charts", "openstack.release")(
            what=f"OpenStack-Helm has no charts of {written.release}",
            why="charts of another release start its services with options and migrations that are not theirs",
            remedy=f"write builtin, or a release of: {others}",
        )
    remote = "://" in written.charts
    for name, version in written.chart_versions.items():
        if not re.search(r"\d+\.\d+", version):
            yield error("unpinned-chart", f"openstack.chart_versions.{name}")(
                what=f"the chart {name} has version {version}",
                why="the same site file gives another cloud tomorrow",
                remedy="write a full version, such as 2026.1.0",
            )
        elif name in matrix and version != matrix[name] and not version.startswith(f"{written.release}."):
            yield error("chart-release-mismatch", f"openstack.chart_versions.{name}", "openstack.release")(
                what=f"the chart {name} {version} is not of the release {written.release}",
                why="a chart's jobs and configuration are those of its release: migrations run against the wrong code",
                remedy=f"write {matrix[name]}, or the release the chart is of",
            )
        elif name not in matrix:
            yield warning("chart-not-in-matrix", f"openstack.chart_versions.{name}")(
                what=f"the chart {name} is not in the version matrix",
                why="nobody tested it with this release",
                remedy=f"one of: {', '.join(matrix)}",
            )
    if remote and not re.match(r"(https|oci)://", written.charts):
        yield error("charts-without-tls", "openstack.charts")(
            what=f"charts come from {written.charts.partition('://')[0]}://",
            why="whoever is on the way can change what runs as root on every node",
            remedy="write an https:// or oci:// reference, or a directory",
        )


def _images(context: PlanContext) -> Iterator[Finding]:
    known = versions.images(
        registry="", kubernetes=context.site.kubernetes.version, openstack=context.site.openstack.release,
        cni=context.plan.kubernetes.cni.name, services=context.site.openstack.services,
        rbd=context.plan.kubernetes.storage_charts is not None,
    )  # fmt: skip
    release = context.site.openstack.release
    for name, reference in context.site.supply.images.items():
        key = f"supply.images.{name}"
        if name not in known:
            yield error("unknown-image", key)(
                what=f"there is no image {name}",
                why="the reference would have no effect",
                remedy=f"one of: {', '.join(sorted(known))}",
            )
        tag = reference.partition("@")[0].rpartition("/")[2].partition(":")[2]
        told = re.match(r"\d{4}\.\d+", tag)
        if name.startswith("openstack") and told and told[0] != release:
            yield error("image-release-mismatch", key, "openstack.release")(
                what=f"{reference} is not of the release {release}",
                why="charts and images of two releases disagree on options, WSGI entry points and migrations",
                remedy=f"write an image of {release}",
            )
        if _DIGEST.search(reference):
            continue
        if tag in ("", "latest"):
            yield error("image-latest", key)(
                what=f"{reference} has {'the tag latest' if tag else 'no tag, which means latest'}",
                why="two nodes can run two images under one name, and a restart is an upgrade",
                remedy="write a tag of a release and its digest: name:tag@sha256:...",
            )
            continue
        yield warning("image-unpinned", key)(
            what=f"{reference} has no digest",
            why="a tag can be moved to other content",
            remedy="append the digest: name:tag@sha256:...",
        )
