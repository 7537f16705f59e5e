"""A step of OpenStack's release that must not be made: by the images that run, not by a chart's number."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ...helm.preview import ChangePreview
from ...plan.platform.versions import OPENSTACK
from ...plan.types import Plan, ReleasePlan
from ..types import GateReason, against
from . import pairs


def stepped(plan: Plan, release: ReleasePlan, preview: ChangePreview) -> Iterator[GateReason]:
    """Yield the reasons against bringing a release that runs to the images it would run."""
    live, rendered = preview.live.get(release.name), preview.rendered.get(release.name)
    if live is None or release.is_extra:
        return
    before = pairs.releases(live.objects)
    after = pairs.releases(rendered.objects if rendered else ()) or {plan.openstack.release}
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
