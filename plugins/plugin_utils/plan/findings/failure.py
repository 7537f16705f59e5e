"""What happens when a hypervisor dies: somebody is asked, something fences it, and somebody hears."""

from __future__ import annotations

from collections.abc import Iterator

from ...layers.layers import LAYERS
from ..form import error, warning
from ..layout.context import PlanContext
from ..types import Finding

_FIELD = "openstack.hypervisor_failure"


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about the policy for dead hypervisors."""
    plan = context.plan
    policy, ceph = plan.openstack.hypervisor_failure, plan.ceph
    if policy is None:
        return
    if LAYERS["hypervisor"].service not in plan.openstack.services or not context.layout.with_role("hypervisor"):
        yield error("failure-without-hypervisors", _FIELD)(
            what="the site has no hypervisors of its own, or no Nova",
            why="no instance could be lost, and nobody could be asked",
            remedy=f"leave {_FIELD} out",
        )
    elif policy.action == "evacuate" and not (ceph and ceph.backend == "native"):
        yield error("evacuation-without-fence", f"{_FIELD}.action", "storage.backend")(
            what="nothing here keeps a hypervisor that is only out of reach from its disks",
            why="its instances would run twice, and write to the same volumes",
            remedy="write action: tell, or storage.backend: native, whose Ceph refuses the host",
        )
    if plan.monitoring is None:
        yield warning("failure-unheard", _FIELD, "monitoring.enabled")(
            what="the site has no monitoring",
            why="what is found is in the timer's journal alone, and nobody is paged",
            remedy="write monitoring.enabled: true, and monitoring.webhook",
        )
