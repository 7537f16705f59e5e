"""Charts and values of releases of the site's own: read from their files, when chart values are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...layers.mirror import OCI
from ..chart_files import ChartFileError, read_chart, read_values, same_version
from ..form import choose, error, info, warning
from ..types import ExtraReleasePlan, Finding, ReleasePlan
from .overrides import compared

NAMES = (
    "extra-release-chart", "extra-release-chart-version", "extra-release-values", "extra-release-image-undefined",
    "extra-release-image-unused", "extra-release-kinds",
)  # fmt: skip
IMAGE = "$image"


def read(
    release: ReleasePlan, extra: ExtraReleasePlan, images: Mapping[str, str]
) -> tuple[dict[str, Any], list[Finding]]:
    """Return a release's values with ``images`` of the supply for names, and what is wrong with values and chart."""
    key = f"openstack.extra_releases.{release.name}"
    values, found = extra.values, list[Finding]()
    if isinstance(values, str):
        try:
            values = read_values(Path(values))
        except ChartFileError as fault:
            found.append(
                error("extra-release-values", f"{key}.values")(
                    what=f"{values}: {fault}",
                    why=f"the release {release.name} is made with these values",
                    remedy="write the path of a YAML file, relative to the site file, or the values themselves",
                )
            )
            values = {}
    found += _images(key, values, extra)
    found += _chart(key, release, values)
    return _resolved(values, {name: images[image] for name, image in extra.images.items()}), found


def _chart(key: str, release: ReleasePlan, values: Mapping[str, Any]) -> Iterator[Finding]:
    if release.chart.startswith(OCI):
        return  # nothing is fetched for a plan
    try:
        chart = read_chart(Path(release.chart))
    except ChartFileError as fault:
        yield error("extra-release-chart", f"{key}.chart")(
            what=f"{release.chart} is no chart: {fault}",
            why=f"the release {release.name} is made from it",
            remedy="write the path of a directory with Chart.yaml, or of a .tgz, relative to the site file",
        )
        return
    if chart.missing:
        yield error("extra-release-chart", f"{key}.chart")(
            what=f"{release.chart} needs the charts {', '.join(chart.missing)}, and has not got them",
            why="Helm renders nothing without them, and a run downloads no charts",
            remedy=f"helm dependency update {release.chart}; or package it with them",
        )
    if not same_version(chart.version, release.version):
        yield error("extra-release-chart-version", f"{key}.version", f"{key}.chart")(
            what=f"{release.chart} has version {chart.version or 'none'}, not {release.version}",
            why="another chart than was meant would be rolled out",
            remedy=f"write {chart.version}, or bring the chart of that version",
        )
    if chart.crds:
        yield info("extra-release-kinds", f"{key}.chart")(
            what=f"{release.chart} brings kinds of its own for the whole cluster (crds/)",
            why="Helm installs them once; it neither upgrades nor removes them, and no prediction shows them",
            remedy="none is needed; with a new version of the chart apply its crds/ by hand, if they differ",
        )
    yield from compared(f"{key}.values", release.name, values, chart, ours={})


def _images(key: str, values: Any, extra: ExtraReleasePlan) -> Iterator[Finding]:
    used = dict(_references(values, f"{key}.values"))
    for path, name in used.items():
        image, _, part = name.partition(".")
        if image not in extra.images or part not in ("", *_PARTS):  # also with other keys beside it
            yield error("extra-release-image-undefined", path)(
                what=f"{name} is none of the release's images, nor a part of one",
                why="its pods would have no image",
                remedy=f"{choose(image, extra.images)}; parts: {', '.join(_PARTS)}, as in {image}.repository",
            )
    for name in extra.images.keys() - {name.partition(".")[0] for name in used.values()}:
        yield warning("extra-release-image-unused", f"{key}.images.{name}")(
            what=f"the image {name} is copied, and the values do not name it",
            why="the chart's own reference stays: the rollout refuses images from elsewhere",
            remedy=f'write {{"{IMAGE}": "{name}"}} where the chart has the image',
        )


def _references(values: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(values, Mapping):
        if IMAGE in values:
            yield path, str(values[IMAGE]) if len(values) == 1 else f"a mapping with {IMAGE} and other keys"
            return
        for key, value in values.items():
            yield from _references(value, f"{path}.{key}")
    elif isinstance(values, list):
        for index, value in enumerate(values):
            yield from _references(value, f"{path}.{index}")


def _resolved(values: Any, images: Mapping[str, str]) -> Any:
    if isinstance(values, Mapping):
        if set(values) == {IMAGE}:
            name, _, part = str(values[IMAGE]).partition(".")
            return _part(images[name], part) if name in images else str(values[IMAGE])
        return {key: _resolved(value, images) for key, value in values.items()}
    return [_resolved(value, images) for value in values] if isinstance(values, list) else values


_PARTS = ("repository", "tag", "registry", "path")


def _part(reference: str, part: str) -> str:
    """Return a part of an image's name. Charts join repository and tag with a colon: a digest's last one will do."""
    repository, _, tag = reference.rpartition(":")
    registry, _, path = repository.partition("/")
    return {"repository": repository, "tag": tag, "registry": registry, "path": path}.get(part, reference)
