"""A step of OpenStack's release that must not be made: by the images that run, not by a chart's number."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import product

from ...helm.preview import ChangePreview
from ...plan.types import Plan, ReleasePlan
from ..types import GateReason, against
from . import pairs


def steps(plan: Plan, release: ReleasePlan, preview: ChangePreview) -> list[tuple[str, str]]:
    """Return the steps that ``release`` would make: from each OpenStack release that runs to each that would."""
    live, rendered = preview.live.get(release.name), preview.rendered.get(release.name)
    if live is None or release.is_extra:
        return []
    before = pairs.releases(live.objects)
    after = pairs.releases(rendered.objects if rendered else ()) or {plan.openstack.release}
    return sorted(product(before, after)) if before != after else []


def stepped(plan: Plan, release: ReleasePlan, preview: ChangePreview, *, upgrade: bool) -> Iterator[GateReason]:
    """Yield the reasons against bringing a release that runs to the images it would run.

    ``upgrade``: the run is a part of the verb that takes a cloud from one release to the next.
    """
    for step in steps(plan, release, preview):
        if refused := pairs.refusal(*step):
            what, remedy = refused
            yield against(release.name, "release-pair")(
                what=what,
                why="schemas, messages and service records of these releases were never tested together",
                remedy=remedy,
            )
        elif step[0] != step[1] and not upgrade:
            yield against(release.name, "release-step")(
                what=f"{step[0]} runs, and it would become {step[1]}",
                why="a backup comes first; hypervisors, messages and data follow in an order of their own",
                remedy="run the playbook groundup.cloud.openstack_upgrade",
            )


def ordered(plan: Plan, preview: ChangePreview, only: Collection[str]) -> Iterator[GateReason]:
    """Yield the reasons against bringing ``only`` those releases to another OpenStack release."""
    planned = {release.name: release for release in plan.openstack.releases}
    behind = {name for name, release in planned.items() if steps(plan, release, preview)} - {*only}
    for name in only:
        if name not in planned:
            yield against(name, "no-release")(
                what="the site has no release of that name", why="nothing would be done",
                remedy=f"one of: {', '.join(planned)}",
            )  # fmt: skip
        elif first := sorted(behind & {*planned[name].needs}):
            yield against(name, "release-order")(
                what=f"it needs {', '.join(first)}, which would stay at the former release",
                why="a service may be older than those that call it, and not the other way round",
                remedy=f"name {', '.join(first)}, too, or upgrade them first",
            )
