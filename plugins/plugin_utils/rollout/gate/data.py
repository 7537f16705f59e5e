"""Data that a change would remove, or leave where their service looks no more."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...health.dotted import at
from ...helm.manifests import is_kept
from ...helm.types import LiveRelease, ObjectChange, Rendered
from ...kube.types import Object, ref_of
from ...plan.types import ReleasePlan
from ...services import RECORDS
from ..types import GateReason, against

# With these goes what is in them; with a definition, all objects of its kind.
HOLDS = frozenset({
    "CustomResourceDefinition", "Namespace", "PersistentVolume", "PersistentVolumeClaim", "StatefulSet",
})  # fmt: skip
_FSID = re.compile(r"^\s*fsid\s*=\s*(\S+)", re.MULTILINE)
_RETENTION = "persistentVolumeClaimRetentionPolicy"


def removed(release: str, change: ObjectChange) -> Iterator[GateReason]:
    """Yield a reason for an object with state that an upgrade would remove."""
    if change.kind == "remove" and change.ref.kind in HOLDS:
        yield against(release, "removes-data")(
            what=f"{change.ref} would be removed",
            why="it holds state",
            remedy="back it up and remove it deliberately",
        )


def scaled(release: str, rendered: Rendered, change: ObjectChange) -> Iterator[GateReason]:
    """Yield a reason for fewer members of a StatefulSet whose claims go with them."""
    policies = {
        ref_of(item, namespace=rendered.namespace): _retention(item, "whenScaled")
        for item in rendered.objects
        if item.get("kind") == "StatefulSet"
    }
    for field in change.fields:
        if field.path == "spec.replicas" and policies.get(change.ref) == "Delete":
            before, after = field.before, 1 if field.after is None else field.after
            if isinstance(before, int) and isinstance(after, int) and after < before:
                yield against(release, "removes-data")(
                    what=f"{change.ref} from {before} to {after} members, with their volume claims ({_RETENTION})",
                    why="they hold state",
                    remedy="back them up first, or write whenScaled: Retain",
                )


def uninstalled(live: LiveRelease) -> Iterator[GateReason]:
    """Yield a reason for each object with state that goes with a release."""
    for item in live.objects:
        goes = item["kind"] in HOLDS - {"StatefulSet"} or _retention(item, "whenDeleted") == "Delete"
        if goes and not is_kept(item):
            yield against(live.name, "removes-data")(
                what=f"{ref_of(item)} is the chart's own and would be removed with it"
                + (", with its volume claims" if item["kind"] == "StatefulSet" else ""),
                why="it holds state",
                remedy="back it up first",
            )


def moved(release: ReleasePlan, live: LiveRelease | None) -> Iterator[GateReason]:
    """Yield a reason for each place of a service's data that is another than the live release's."""
    before = places(release.verify, live.values) if live else {}
    after = places(release.verify, release.values)
    for name, place in before.items():
        if after.get(name) != place:
            yield against(release.name, "data-elsewhere")(
                what=f"{name} is {place} in the live release, and would be {after.get(name) or 'nowhere'}",
                why="what it has there stays, and would be found no more: the service knows it by that place",
                remedy="write it as it was; or move the data first, by the service's own means, and accept this",
            )


def places(name: str, values: Mapping[str, Any]) -> dict[str, str]:
    """Return the places where the service ``name`` keeps data, by its chart's ``values``."""
    record = RECORDS.get(name)
    if record is None:
        return {}
    databases = [f"endpoints.{endpoint}.{part}" for endpoint in record.schemas for part in ("path", "hosts.default")]
    found = {path: str(value) for path in (*record.data, *databases) if (value := at(values, path)) is not None}
    return found | ({"its Ceph (fsid)": fsid} if (fsid := _ceph(values)) else {})


def _ceph(values: Mapping[str, Any]) -> str:
    texts: Iterable[Any] = (at(values, "extraObjects.ceph_etc.data") or {}).values()
    return next((match[1] for text in texts if (match := _FSID.search(str(text)))), "")


def _retention(item: Object, when: str) -> str:
    return str(((item.get("spec") or {}).get(_RETENTION) or {}).get(when) or "")
