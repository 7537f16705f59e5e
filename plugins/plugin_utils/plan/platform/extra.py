"""Releases of the site's own (`openstack.extra_releases`), planned into the graph of ours."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path

from ...layers import mirror
from ...layers.mirror import OCI
from ...services import RECORDS
from ..model import Site
from ..model.openstack import ExtraRelease
from ..types import ExtraReleasePlan, ReleasePlan

START_TIMEOUT = 1200  # seconds that the rollout gives a release of slowness 1


def releases(site: Site, ours: Iterable[str]) -> tuple[ReleasePlan, ...]:
    """Return the releases that can be planned: ``ours``, or others of them, are all they need."""
    written = {name: one for name, one in site.openstack.extra_releases.items() if name not in RECORDS}
    known, planned = set(ours), dict[str, ExtraRelease]()
    while ready := {name: one for name, one in written.items() if name not in planned and known.issuperset(one.needs)}:
        planned |= ready
        known |= ready.keys()
    return tuple(
        ReleasePlan(
            name=name,
            chart=located(site, one.chart),
            version=one.version,
            namespace=one.namespace or name,
            needs=tuple(dict.fromkeys(one.needs)),
            verify="workloads",
            values={},
            slowness=one.timeout / START_TIMEOUT,
        )
        for name, one in planned.items()
    )


def plans(site: Site) -> dict[str, ExtraReleasePlan]:
    """Return what values and namespaces of these releases are made from."""
    return {
        name: ExtraReleasePlan(
            values=located(site, one.values) if isinstance(one.values, str) else one.values,
            images={image: _key(site, reference) for image, reference in copied(one).items()},
            ports=tuple(dict.fromkeys(one.ports)),
            pod_security=one.pod_security,
        )
        for name, one in site.openstack.extra_releases.items()
    }


def images(site: Site, registry: str) -> dict[str, str]:
    """Return the images of these releases by artifact, as pods name them; none with a registry of the site's own."""
    found = [reference for one in site.openstack.extra_releases.values() for reference in copied(one).values()]
    own = site.supply.registry
    return {_key(site, one): one if own else f"{registry}/{mirror.image(one)}" for one in found}


def copied(release: ExtraRelease) -> dict[str, str]:
    """Return the images of a release that have tag and digest: others are findings."""
    return {name: one for name, one in release.images.items() if mirror.FORM.fullmatch(one)}


def located(site: Site, written: str) -> str:
    """Return a path of the site file as an absolute one; an oci:// reference as it is."""
    if written.startswith(OCI):
        return written
    return os.path.abspath(Path(site.file).parent / Path(written).expanduser())  # noqa: PTH100  # no look at the disk


def namespaces(site: Site) -> dict[str, Collection[str]]:
    """Return the names of these releases, by namespace."""
    found: dict[str, list[str]] = {}
    for name, one in site.openstack.extra_releases.items():
        found.setdefault(one.namespace or name, []).append(name)
    return dict(found)


def _key(site: Site, reference: str) -> str:
    """Return the image's name in the supply: of a registry of the site's own the reference, which no run copies."""
    return reference if site.supply.registry else mirror.artifact(reference)
