"""System disks: named in the site file where Ironic could choose an OSD's disk."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..device_names import overlap
from ..form import error, warning
from ..layout.context import PlanContext
from ..types import Finding, HostPlan


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield machines of Ironic whose system disk may be an OSD's, and system disks that have no effect."""
    dark = [host for host in context.plan.hosts.values() if host.provisioner == "ironic"]
    yield from _beside_osds(context, dark)
    for group_name, group in context.site.machines.items():
        for name, own in group.machines.items():
            host = context.plan.hosts.get(name)
            if own.system_disk and host and host.provisioner != "ironic":
                yield warning("system-disk-unused", f"machines.{group_name}.machines.{name}.system_disk")(
                    what=f"{name} has a system_disk, and its provisioner is {host.provisioner}",
                    why="only Ironic writes an operating system",
                    remedy="leave it out, or give the machine a bmc",
                )


def _beside_osds(context: PlanContext, dark: list[HostPlan]) -> Iterator[Finding]:
    osds = context.plan.ceph.osds if context.plan.ceph else {}
    unsaid: dict[str, list[str]] = {}
    for host in dark:
        devices = [str(osd.device) for osd in osds.get(host.hardware, ()) if osd.device and "storage" in host.roles]
        if devices and not host.system_disk:
            unsaid.setdefault(host.hardware, []).append(host.name)
        disk = host.system_disk or {}
        said = [str(disk[name]).lower() for name in ("path", "wwn", "serial") if name in disk]
        paths = [str(disk["path"])] if "path" in disk else []
        paths += [f"/dev/disk/by-id/wwn-{disk['wwn']}"] if "wwn" in disk else []
        for device in devices:
            known = re.sub(r"(_1)?(-part\d+)?$", "", device.lower())
            if any(overlap(device, path) for path in paths) or any(
                known == one or known.endswith((f"-{one}", f"_{one}")) for one in said
            ):
                yield error("system-disk-is-an-osd", f"hardware.{host.hardware}.osds", f"machines.{host.group}")(
                    what=f"{host.name}: {device} is its system disk and an OSD",
                    why="one would be written over the other",
                    remedy="name another disk for one of them",
                )
    for kind, names in unsaid.items():
        first = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        yield warning("system-disk-unsaid", f"hardware.{kind}.system_disk")(
            what=f"{first} of hardware {kind} have disks for OSDs; nothing says which disk the system is written to",
            why="Ironic takes the smallest disk of 4 GiB at least, which may be one for an OSD",
            remedy=f"write hardware.{kind}.system_disk: its model, path, wwn, serial or least size",
        )
