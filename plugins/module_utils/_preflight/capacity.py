"""Check cores, memory, system disk and network ports against the hardware profile, and free disk space."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from .._host.sriov import lacking
from .._plan.preflight import Expected
from .links import holder
from .model import MachineFacts, PreflightFault

_GIB = 1 << 30
_ENOUGH = 0.9  # of the profile's memory: firmware and kernel reserve some
_EVICTED = {"/var/lib/containerd": 0.15, "/var/lib/kubelet": 0.1}  # kubelet's default evictionHard
_SERVING_GIB = 1  # required free space on a serving host, which has written most already


def hardware(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
    """Yield hardware below the machine's profile."""
    has = wanted.hardware
    # A hardware fault of a serving host must not block it, or the whole site.
    severity = "error" if wanted.hardware_required and not machine.serves(wanted) else "warning"
    if not has:
        return
    name = has["name"]
    remedy = (
        f"use a larger machine, or describe this one under hardware of the site file and name that instead of {name}"
    )
    cores = len(re.findall(r"^processor\s*:", machine.read("/proc/cpuinfo"), re.MULTILINE))
    if cores and cores < has["cores"]:
        yield PreflightFault(
            "hardware", severity, f"{cores} of the {has['cores']} cores of {name}", "/proc/cpuinfo", remedy
        )
    total = re.search(r"^MemTotal:\s*(\d+) kB", machine.read("/proc/meminfo"), re.MULTILINE)
    if total and int(total.group(1)) * 1024 < has["memory_gb"] * _GIB * _ENOUGH:
        gib = round(int(total.group(1)) / (1 << 20))
        yield PreflightFault(
            "hardware", severity, f"{gib} of the {has['memory_gb']} GiB of memory of {name}", "/proc/meminfo", remedy
        )
    yield from _ports(machine, wanted, remedy)
    others = [disk for disk in _system_disks(machine) if not disk.startswith("nvme")]
    if has["nvme"] and others:
        shown = ", ".join(f"/dev/{disk}" for disk in others)
        yield PreflightFault("hardware", "warning", f"the system disk is not the NVMe of {name}", shown, remedy)


def _ports(machine: MachineFacts, wanted: Expected, remedy: str) -> Iterator[PreflightFault]:
    found = machine.links()
    for planned in wanted.interfaces:
        name = holder(found, planned["address"]) if planned["address"] else None
        speed = machine.read(f"/sys/class/net/{name}/speed").strip() if name else ""
        # A virtual port has no speed, or -1.
        if speed.isdigit() and 0 < int(speed) < wanted.hardware["nic_gbps"] * 1000:
            what = f"a network port of {int(speed) / 1000:g} of the {wanted.hardware['nic_gbps']} Gbit/s of"
            yield PreflightFault(
                "hardware", "warning", f"{what} {wanted.hardware['name']}", f"{name}, {planned['network']}", remedy
            )


def _system_disks(machine: MachineFacts) -> list[str]:
    """Return the disks of the root file system, also below LVM, RAID, multipath and encryption."""
    number = machine.root.stat().st_dev
    device = machine.path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    return sorted(_disks_below(device.resolve())) if device.exists() else []


def _disks_below(device: Path) -> set[str]:
    below = list((device / "slaves").iterdir()) if (device / "slaves").is_dir() else []
    if below:
        return set().union(*(_disks_below(one.resolve()) for one in below))
    return {device.parent.name if (device / "partition").exists() else device.name}


def cards(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
    """Yield what the machine lacks for virtual functions of its cards, and cards with an address of the host."""
    planned = {card: one["functions"] for card, one in wanted.hardware.get("sriov", {}).items()}
    found = list(lacking(planned, root=machine.root))
    links = machine.links() if planned else {}
    own = {holder(links, one["address"]) for one in wanted.interfaces if one["address"]}
    found += [(f"sriov.{card}: the host's own address is on it", card) for card in planned if card in own]
    severity = "warning" if machine.serves(wanted) else "error"  # the layer hypervisor refuses it there
    for what, where in found:
        yield PreflightFault(
            "sriov", severity, what, where,
            f"put the machine right, or write what it has into hardware.{wanted.hardware['name']}.sriov",
        )  # fmt: skip


def space(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
    """Yield file systems without enough space or inodes for the layers."""
    needed: dict[int, tuple[str, list[str], int]] = {}
    for directory, gib in sorted(wanted.space.items()):
        place = machine.path(directory)
        while not place.exists():
            place = place.parent
        shown, names, sum_ = needed.get(place.stat().st_dev, (str(place), [], 0))
        needed[place.stat().st_dev] = (shown, [*names, directory], sum_ + gib)
    for shown, names, sum_ in needed.values():
        gib = min(sum_, _SERVING_GIB) if machine.site == wanted.site else sum_
        state = os.statvfs(shown)
        share = max(_EVICTED.get(name, 0) for name in names) if wanted.eviction else 0
        free = state.f_bavail * state.f_frsize / _GIB
        if free < gib:
            yield PreflightFault(
                "space", "error", f"less than {gib} GiB free for {', '.join(names)}", f"{free:.1f} GiB",
                "make room, or mount a larger disk there",
            )  # fmt: skip
        elif state.f_bavail < state.f_blocks * share:
            yield PreflightFault(
                "space", "warning" if machine.serves(wanted) else "error",
                f"less than {share:.0%} free for {', '.join(names)}: the kubelet takes no pods", f"{free:.1f} GiB",
                "make room, mount a larger disk there, or write kubernetes.kubelet.evictionHard",
            )  # fmt: skip
        elif state.f_files and state.f_favail < state.f_files * 0.05:
            yield PreflightFault(
                "space", "error", f"less than 5 % of the inodes are free for {', '.join(names)}", str(state.f_favail),
                "remove what holds many small files, or mount another file system there",
            )  # fmt: skip


def swap(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
    """Yield active swap: the kubelet does not start with it unless the site file allows it."""
    on = [line.split()[0] for line in machine.read("/proc/swaps").splitlines()[1:]]
    if on:
        yield PreflightFault(
            "swap", "error" if wanted.node and not wanted.swap else "warning", "swap is on", ", ".join(on),
            "turn it off: swapoff -a, and take it out of /etc/fstab (a zram or .swap unit: systemctl mask it)",
        )  # fmt: skip
