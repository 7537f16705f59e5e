"""Check that a machine can do what its hardware profile says, before anything is changed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .._base.errors import GroundupError
from .._base.run import attempt

KVM = Path("/dev/kvm")
TUN = Path("/dev/net/tun")
LOADED = Path("/sys/module/openvswitch")


def refuse(compute: Mapping[str, Any], *, hardware: str, host: str) -> None:
    """Raise GroundupError with everything that the machine lacks for its profile."""
    if found := list(lacking(compute)):
        raise GroundupError(
            "; ".join(found),
            where=f"{host}; site file key hardware.{hardware}.compute",
            why="guests would not start on it, or not be reached",
            remedy="turn it on (firmware, kernel), or write what the machine can",
        )


def missing(programs: Mapping[str, str], *, host: str) -> None:
    """Raise GroundupError for those of ``programs`` that are missing: else the first instance that needs one tells."""
    if lost := [f"{path} ({what})" for path, what in programs.items() if not Path(path).exists()]:
        raise GroundupError(
            f"not on the host: {', '.join(lost)}",
            where=host,
            why="instances that need it fail on this hypervisor: Exhausted all hosts available for retrying build",
            remedy="run the playbook groundup.cloud.hypervisor, which installs their packages",
        )


def lacking(compute: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the machine lacks, with the field that requires it."""
    if compute["virt_type"] == "kvm" and not KVM.exists():
        yield "virt_type: kvm, and there is no /dev/kvm: no virtualisation by the processor, or its module is missing"
    if compute["datapath"] == "system" and not _has_module("openvswitch"):
        yield "datapath: system, and the kernel has no module openvswitch (datapath: netdev does without)"
    if compute["datapath"] == "netdev" and not TUN.exists():
        yield "datapath: netdev, and there is no /dev/net/tun"
    cores = os.cpu_count() or 1
    if compute["reserved_cores"] >= cores:
        yield f"reserved_cores: {compute['reserved_cores']}, and the machine has {cores}"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    if compute["reserved_memory_gb"] >= memory:
        yield f"reserved_memory_gb: {compute['reserved_memory_gb']}, and the machine has {memory:.0f} GiB"


def _has_module(name: str) -> bool:
    return LOADED.exists() or attempt(["modprobe", "--dry-run", "--quiet", "--", name]).returncode == 0
