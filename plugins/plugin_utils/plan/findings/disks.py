"""Disks of instances: the Ceph they need exists, and all hypervisors keep them in the same place."""

from __future__ import annotations

from collections.abc import Iterator

from ..form import error, warning
from ..layout.context import PlanContext
from ..types import Finding


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about where hypervisors keep disks of instances."""
    compute = context.plan.hypervisor.compute
    in_ceph = [kind for kind, one in compute.items() if one["disks"] == "ceph"]
    keys = tuple(f"hardware.{kind}.compute.disks" for kind in in_ceph)
    if in_ceph and not context.plan.ceph:
        yield error("disks-without-ceph", *keys, "storage.backend")(
            what=f"disks of instances on hypervisors of hardware {', '.join(in_ceph)} are to be in Ceph, and the site "
            "has none",
            why="nova-compute would not start",
            remedy="write storage.backend: native and storage hosts, or external and where it is; or disks: host",
        )
    elif in_ceph and len(in_ceph) < len(compute):
        others = ", ".join(kind for kind in compute if kind not in in_ceph)
        yield warning("mixed-disks", *keys)(
            what=f"disks of instances are in Ceph on hypervisors of hardware {', '.join(in_ceph)}, and files of the "
            f"host on those of {others}",
            why="no instance moves from one kind to the other, and Nova's scheduler does not know: a drain or a "
            "resize may choose the wrong one",
            remedy="write one value for all; or give one kind a label, and flavors its trait (guide of hypervisors)",
        )
