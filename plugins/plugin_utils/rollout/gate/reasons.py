"""Every reason against a change: versions, images, quorums, fields that cannot change, data that would be lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from ...helm.preview import ChangePreview
from ...helm.types import FieldChange, LiveRelease, ObjectChange, Rendered
from ...kube.client import Api
from ...kube.types import Object, Ref, ref_of
from ...kube.workloads import images, node_ports
from ...plan.platform.versions import OPENSTACK, nearest_openstack
from ...plan.types import Plan, ReleasePlan
from ...services import RECORDS
from ..types import GateReason, against
from . import data, pairs
from .consistency import disagreements

_OWN_IMAGES = 'list it in the release\'s images, and write {"$image": NAME} in its values'
_SPREAD = "podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"


def reasons_against(plan: Plan, preview: ChangePreview, held: Mapping[int, Ref]) -> tuple[GateReason, ...]:
    """Return every reason against the change; ``held``: the Service that holds each node port of the cluster."""
    found: list[GateReason] = list(disagreements(one for one in plan.openstack.releases if not one.is_extra))
    for release in plan.openstack.releases:
        found.extend(_versions(plan, release, preview.live.get(release.name)))
        found.extend(_stepped(plan, release, preview))
        if release.name in preview.rendered:
            rendered = preview.rendered[release.name]
            found.extend(_images(plan, release, rendered.objects + rendered.hooks))
            found.extend(_quorum_size(release, rendered.objects))
            found.extend(_node_ports(rendered, held))
            if release.name in preview.diffs:
                for change in preview.diffs[release.name].changes:
                    found.extend(data.scaled(release.name, rendered, change))
        found.extend(data.moved(release, preview.live.get(release.name)))
        if release.name in preview.diffs:
            for change in preview.diffs[release.name].changes:
                found.extend(_change(release, change))
                found.extend(data.removed(release.name, change))
    return tuple(dict.fromkeys(found))


def holders_of_node_ports(api: Api) -> dict[int, Ref]:
    """Return the Service that holds each node port of the cluster."""
    services = api.get("/api/v1/services").get("items") or ()
    return {port: ref_of({"kind": "Service", **item}) for item in services for port in node_ports(item)}


def _versions(plan: Plan, release: ReleasePlan, live: LiveRelease | None) -> Iterator[GateReason]:
    known = nearest_openstack(plan.openstack.release).charts.get(release.chart)
    matches = release.version == known or release.version.startswith(f"{plan.openstack.release}.")
    if not release.is_extra and not matches:
        yield against(release.name, "version-matrix")(
            what=f"chart {release.chart} {release.version} is not of OpenStack {plan.openstack.release}",
            why="charts, images and release are tested together",
            remedy=f"use a chart version {plan.openstack.release}.x",
        )
    if live is not None and _number(live.chart_version) > _number(release.version):
        yield against(release.name, "downgrade")(
            what=f"chart {live.chart_version} is live, {release.version} is older",
            why="databases are migrated forward only",
            remedy="keep the live version, or restore a backup beside it",
        )


def _stepped(plan: Plan, release: ReleasePlan, preview: ChangePreview) -> Iterator[GateReason]:
    """Yield the reasons against a step of OpenStack's release: by the images that run, not by a chart's number."""
    live, rendered = preview.live.get(release.name), preview.rendered.get(release.name)
    if live is None or release.is_extra:
        return
    before = pairs.releases(live.objects)
    after = pairs.releases(rendered.objects if rendered else ()) or {plan.openstack.release}
    if not before and rendered and _changes_images(release, live, rendered):
        yield against(release.name, "release-unknown")(
            what="its images would be others, and the tags of those that run do not tell their OpenStack release",
            why="another release migrates databases, and nothing takes that back",
            remedy="see that both are of one release, or of two that may follow each other, and accept it. A tag that "
            "begins with the release, as in name:2026.1-7, tells it",
        )
    for step in sorted(product(before, after)) if before != after else ():
        if refused := pairs.refusal(*step):
            what, remedy = refused
            yield against(release.name, "release-pair")(
                what=what,
                why="schemas, messages and service records of these releases were never tested together",
                remedy=remedy,
            )
        elif step[0] != step[1]:
            back = f"set openstack.release to {step[0]}; " if step[0] in OPENSTACK else ""
            yield against(release.name, "release-step")(
                what=f"{step[0]} runs, and it would become {step[1]}",
                why="several services would make it at once, and hypervisors have no order",
                remedy=f"{back}the playbook groundup.cloud.openstack_upgrade makes it (docs/openstack-upgrade.md)",
            )


def _changes_images(release: ReleasePlan, live: LiveRelease, rendered: Rendered) -> bool:
    """Return whether a service of OpenStack would run other images."""
    record = RECORDS.get(release.verify)
    run, would = ({image for item in items for image in images(item)} for items in (live.objects, rendered.objects))
    return bool(record and record.of_openstack and run and run != would)


def _images(plan: Plan, release: ReleasePlan, items: Iterable[Object]) -> Iterator[GateReason]:
    # With the published digest, and by plain name, as a site file may write it.
    known = {name for image in plan.supply.images.values() for name in (image, image.partition("@")[0])}
    for image in sorted({image for item in items for image in images(item)}):
        tag = image.rpartition("/")[2].partition("@")[0].partition(":")[2]
        pinned = "@sha256:" in image
        if not pinned and tag in ("", "latest"):
            yield against(release.name, "image-latest")(
                what=f"image {image or '(none)'} has no fixed version",
                why="two pods of one release could run different code",
                remedy=_OWN_IMAGES if release.is_extra else "name a tag or a digest in images.tags",
            )
        elif known and image not in known:
            yield against(release.name, "image-unknown")(
                what=f"image {image} is not in the site's supply",
                why="its registry may not be reachable, and nothing says what is in it",
                remedy=_OWN_IMAGES if release.is_extra else "set images.tags to an image of supply.lock",
            )


def _quorum_size(release: ReleasePlan, items: Iterable[Object]) -> Iterator[GateReason]:
    if not _has_quorum(release):
        return
    for item in items:
        count = (item.get("spec") or {}).get("replicas")
        if item.get("kind") == "StatefulSet" and isinstance(count, int) and count % 2 == 0:
            yield against(release.name, "quorum-even")(
                what=f"{ref_of(item)} would have {count} members",
                why="an even quorum survives no more failures than one member less, and can split in halves",
                remedy=f"use {count + 1} or {max(count - 1, 1)}",
            )


def _has_quorum(release: ReleasePlan) -> bool:
    record = RECORDS.get(release.verify)
    return record is not None and bool(record.quorum)


def _node_ports(rendered: Rendered, held: Mapping[int, Ref]) -> Iterator[GateReason]:
    """Yield Services whose node port is taken: the diff predicts no refusal of objects that do not exist yet."""
    for item in rendered.objects:
        ref = ref_of(item, namespace=rendered.namespace)
        for port in node_ports(item) if item.get("kind") == "Service" else ():
            if (holder := held.get(port, ref)) != ref:
                yield against(rendered.release, "node-port-taken")(
                    what=f"{ref} is to have node port {port}, which {holder} of namespace {holder.namespace} has",
                    why="a node port is one Service's: the release would stop halfway",
                    remedy="keep openstack.namespace as the cloud was made with, or remove that Service deliberately",
                )


def _change(release: ReleasePlan, change: ObjectChange) -> Iterator[GateReason]:
    if change.kind == "refused":
        immutable = "immutable" in change.message or "updates to statefulset spec" in change.message
        yield against(release.name, "immutable" if immutable else "refused")(
            what=f"{change.ref}: {change.message}",
            why="the API server will refuse the upgrade halfway",
            remedy="keep those fields, or delete the object deliberately (its volume claims stay) and roll out again",
        )
    for field in change.fields:
        yield from _field(release, change, field)


def _field(release: ReleasePlan, change: ObjectChange, field: FieldChange) -> Iterator[GateReason]:
    storage = field.path.endswith("resources.requests.storage") and None not in (field.before, field.after)
    if storage and _less(field.after, field.before):
        yield against(release.name, "volume-shrink")(
            what=f"{change.ref}: {field.path} from {field.before} to {field.after}",
            why="a volume cannot shrink",
            remedy=f"keep at least {field.before}",
        )
    quorum = _has_quorum(release) and change.ref.kind == "StatefulSet"
    if quorum:
        yield from _spread(release, change, field)
    if quorum and field.path == "spec.replicas" and isinstance(field.before, int):
        after = field.after if isinstance(field.after, int) else 0
        if after < field.before:
            yield against(release.name, "quorum-loss")(
                what=f"{change.ref} from {field.before} to {after} members",
                why=f"a quorum of {field.before} needs {field.before // 2 + 1}; members that vanish count as failed",
                remedy="take members out one at a time, by the service's own means",
            )


def _spread(release: ReleasePlan, change: ObjectChange, field: FieldChange) -> Iterator[GateReason]:
    if _SPREAD in field.path and field.after is not None:
        yield against(release.name, "spread")(
            what=f"{change.ref}: {field.path} from {field.before} to {field.after}",
            why="a member stays where its volume is: two of them on what is now one place could not both run",
            remedy="move the members first, or accept it when each has a place of its own",
        )


def _less(after: Any, before: Any) -> bool:
    from kubernetes.utils.quantity import parse_quantity  # late: the library is slow to load

    try:
        return bool(parse_quantity(after) < parse_quantity(before))
    except ValueError:
        return False  # not a quantity: the API server refuses it, which is a reason of its own


def _number(version: str) -> tuple[int, ...]:
    core = version.lstrip("v").partition("+")[0].partition("-")[0]
    return tuple(int(part) for part in core.split(".") if part.isdigit())
