"""Kernel modules and control groups."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from pathlib import PurePath

from .model import Fault, Machine, Wanted

_CONTROLLERS = ("cpu", "cpuset", "io", "memory", "pids")  # the kubelet's and systemd's limits


_SHOWN = ("br_netfilter", "overlay")  # in /proc, whether they are modules or built in


def modules(machine: Machine, wanted: Wanted) -> Iterator[Fault]:
    """Yield the kernel modules that are neither built in, nor loaded, nor on the disk."""
    home = f"/lib/modules/{platform.release()}"
    known = {_canonical(line.split()[0]) for line in machine.read("/proc/modules").splitlines() if line}
    known |= {_canonical(line.split()[-1]) for line in machine.read("/proc/filesystems").splitlines() if line}
    known |= {_canonical(name) for name in machine.names("/sys/module")}
    for listed in ("modules.builtin", "modules.dep"):
        for line in machine.read(f"{home}/{listed}").splitlines():
            known.add(_canonical(PurePath(line.partition(":")[0]).name.partition(".ko")[0]))
    if machine.has("/proc/sys/net/bridge/bridge-nf-call-iptables"):
        known.add("br_netfilter")
    missing = [name for name in wanted.kernel_modules if _canonical(name) not in known]
    if machine.contained and not machine.has(home):
        # The machine's below, and what is built into its kernel shows only in part.
        if shown := [name for name in missing if _canonical(name) in _SHOWN]:
            yield Fault(
                "kernel-modules", "error", f"the kernel of the machine below has no {', '.join(shown)}", "/proc",
                "load them on the machine below",
            )  # fmt: skip
    elif missing and not machine.has(home):
        yield Fault(
            "kernel-modules", "error", f"the running kernel's modules are not on the disk: {', '.join(missing)}", home,
            "restart the machine: its kernel was replaced",
        )  # fmt: skip
    elif missing:
        yield Fault(
            "kernel-modules", "error", f"the kernel has no {', '.join(missing)}", home,
            "install the package linux-image-amd64 (a cloud kernel may lack modules) and boot it",
        )  # fmt: skip


def control_groups(machine: Machine, wanted: Wanted) -> Iterator[Fault]:
    """Yield what the kubelet lacks in the way this kernel accounts for processes."""
    root = "/sys/fs/cgroup"
    controllers = machine.read(f"{root}/cgroup.controllers").split()
    if not controllers:
        if wanted.node and not wanted.cgroup_v1:
            yield Fault(
                "cgroup", "error", "control groups are of version 1, or not mounted", root,
                "boot with systemd.unified_cgroup_hierarchy=1; the kubelet refuses version 1",
            )  # fmt: skip
        return
    missing = [name for name in _CONTROLLERS if name not in controllers]
    if wanted.node and missing:
        yield Fault(
            "cgroup", "error", f"no control group controller {', '.join(missing)}", f"{root}/cgroup.controllers",
            "take cgroup_disable= off the kernel's command line",
        )  # fmt: skip


def _canonical(name: str) -> str:
    return name.replace("-", "_")
