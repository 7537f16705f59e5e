"""What a step of OpenStack's release takes from the site file, and must be the same until its end. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ...module_utils._base.consent import Reason
from ...module_utils._base.text import few
from ..plan.types import Plan
from ..rollout.gate import pairs
from ..services.record import CLIENT
from ..upgrade.journal import Upgrade
from .facts import ReleaseFacts
from .judge import COMPUTE

_CHARTS, _NAMESPACE, _SERVICES, _MACHINES = "openstack.charts", "openstack.namespace", "openstack.services", "machines"


def inputs(plan: Plan) -> dict[str, list[str]]:
    """Return what the step goes by, by key of the site file."""
    return {
        _CHARTS: [plan.openstack.charts],
        _NAMESPACE: [plan.openstack.namespace],
        _SERVICES: sorted(one.name for one in plan.openstack.releases if not one.is_extra),
        _MACHINES: sorted(name for name, host in plan.hosts.items() if "hypervisor" in host.roles),
    }


def changed(plan: Plan, facts: ReleaseFacts, opened: Upgrade | None) -> Iterator[Reason]:
    """Yield what the site file says otherwise than when the step began, with the remedy.

    A service that left it is named by its pods, as before a step. A hypervisor that came to it is none yet. Before a
    step: what would hide its end.
    """
    if opened is None:
        yield from _untold(plan)
        return
    if not opened.inputs:  # begun by a version that did not write them down
        return
    now = inputs(plan)
    for key in (_CHARTS, _NAMESPACE):
        if [*opened.inputs[key]] != now[key]:
            before = ", ".join(opened.inputs[key])
            yield Reason(
                text=f"{key} was {before} when the step began, and is {', '.join(now[key])}: "
                f"set it to {before} until the step has ended"
            )
    if added := sorted(({*now[_SERVICES]} - {*opened.inputs[_SERVICES]}) & facts.lacking):
        yield Reason(text=f"{_SERVICES} has {few(added)} since the step began: take that out until the step has ended")
    known = {one.host for one in facts.services if one.binary == COMPUTE}
    if left := sorted(({*opened.inputs[_MACHINES]} - {*now[_MACHINES]}) & known):
        yield Reason(
            text=f"{_MACHINES} lacks {few(left)} since the step began, and Nova knows nova-compute there: it would "
            f"keep the former release. Write it again, or ansible-playbook groundup.cloud.retire -e machine={left[0]}"
        )


def _untold(plan: Plan) -> Iterator[Reason]:
    """Yield images of OpenStack by whose tags nobody could say, once they run, that a service has the release."""
    release = plan.openstack.release
    for name, image in sorted(plan.supply.images.items()):
        if name.startswith("openstack") and name != CLIENT and pairs.of_image(image) != release:
            yield Reason(
                text=f"supply.images.{name} is {image}, whose tag does not tell {release}: write a reference whose tag "
                f"begins with it, as in name:{release}-7"
            )
