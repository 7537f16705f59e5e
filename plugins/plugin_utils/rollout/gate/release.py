"""A step of OpenStack's release that must not be made: by the images that run, not by a chart's number."""

from __future__ import annotations

from collections.abc import Iterator

from ...helm.types import LiveRelease
from ...plan.types import Plan, ReleasePlan
from ..types import GateReason, against
from . import pairs


def stepped(plan: Plan, release: ReleasePlan, live: LiveRelease | None) -> Iterator[GateReason]:
    """Yield the reason against bringing a release that runs to the site's OpenStack release."""
    for before in sorted(pairs.releases(live.objects)) if live is not None and not release.is_extra else ():
        if refused := pairs.refusal(before, plan.openstack.release):
            what, remedy = refused
            yield against(release.name, "release-pair")(
                what=what,
                why="schemas, messages and service records of these releases were never tested together",
                remedy=remedy,
            )
