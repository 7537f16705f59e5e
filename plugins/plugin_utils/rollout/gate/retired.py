"""Releases that are no longer in the site file: listed, kept, and removed by consent.

What a removal leaves, volume claims and databases, is listed before it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from graphlib import TopologicalSorter

from ...helm.types import LiveRelease
from ...kube.client import Api
from ...kube.types import ref_of, resource_path
from ...plan.types import ReleasePlan
from ...services import RECORDS, keystone, needs
from ..types import GateReason, against
from . import data


def reasons_against_removal(
    remove: Collection[str], *, retired: Mapping[str, LiveRelease], releases: Collection[ReleasePlan]
) -> Iterator[GateReason]:
    kept = {release.name: tuple(release.needs) for release in releases}
    for name in remove:
        if name in kept:
            yield against(name, "still-in-site")(
                what=f"{name} is in the site file",
                why="it would be removed and rolled out again",
                remedy="take it out of openstack.services first, or do not name it in rollout_remove",
            )
    kept |= {name: needs_of(name) for name in retired if name not in remove}
    for name in (name for name in retired if name in remove):
        users = sorted(user for user, needed in kept.items() if name in needed)
        if users:
            yield against(name, "still-needed")(
                what=f"{', '.join(users)} needs {name} and is kept",
                why="it fails without it",
                remedy=f"remove {', '.join(users)} too, or keep {name}",
            )
        yield from data.uninstalled(retired[name])


def needs_of(name: str) -> tuple[str, ...]:
    """Return the needs of a release that is no longer in the plan."""
    return needs(RECORDS[name]) if name in RECORDS else ()


def in_order(names: Collection[str]) -> list[str]:
    """Sort ``names`` so that each comes before those it needs."""
    graph = {name: sorted(set(needs_of(name)) & set(names)) for name in sorted(names)}
    return list(TopologicalSorter(graph).static_order())[::-1]


def announced(remove: Collection[str], *, retired: Mapping[str, LiveRelease], api: Api) -> Iterator[str]:
    """Yield lines for the operator: each release no longer in the site file, and whether it is kept or removed."""
    for name, live in retired.items():
        if name in remove:
            yield f"no longer in the site file, to be removed: {_described(live, api)}"
        else:
            consent = json.dumps({"rollout_remove": [name]})
            yield f"no longer in the site file, kept: {name}; to remove it: -e '{consent}'"
    for name in sorted(set(remove) - retired.keys()):
        yield f"nothing to remove: no release {name} that is no longer in the site file"


def _described(live: LiveRelease, api: Api) -> str:
    """Describe a release: what its removal deletes, and what it leaves."""
    values = f"helm --namespace {live.namespace} get values {live.name}"
    lines = [
        f"{live.name}: chart {live.chart} {live.chart_version}, revision {live.revision}, {live.status}",
        f"  goes:  {len(live.objects)} objects and the values {', '.join(sorted(live.values)) or '(none)'} ({values})",
        f"  stays: volume claims {', '.join(_claims(live, api)) or '(none)'}",
        f"  stays: databases {', '.join(_databases(live)) or '(none)'}",
    ]
    offered = RECORDS[live.name].api if live.name in RECORDS else None
    if offered and offered.in_catalog and keystone.SERVICE.name in needs_of(live.name):
        lines.append("  goes:  its entry in the catalog, with its endpoints")
    return "\n".join(lines)


def _claims(live: LiveRelease, api: Api) -> list[str]:
    """Return the volume claims of a release: those made from templates, and the chart's own."""
    patterns = [re.escape(ref_of(item).name) for item in live.objects if item["kind"] == "PersistentVolumeClaim"]
    for item in live.objects:
        for template in (item.get("spec") or {}).get("volumeClaimTemplates") or ():
            patterns.append(re.escape(f"{template['metadata']['name']}-{ref_of(item).name}") + r"-\d+")
    present = api.get(resource_path("v1", "persistentvolumeclaims", namespace=live.namespace)).get("items") or ()
    names = [str(claim["metadata"]["name"]) for claim in present]
    return sorted(name for name in names if any(re.fullmatch(pattern, name) for pattern in patterns))


def _databases(live: LiveRelease) -> list[str]:
    endpoints = (live.values.get("endpoints") or {}).items()
    paths = (value.get("path") for name, value in endpoints if name.startswith("oslo_db") and isinstance(value, dict))
    return sorted({str(path).strip("/") for path in paths if path})
