"""Generate a host's OCI runtime configuration: a container with the rights that a machine's systemd needs."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .model import LabHost
from .names import Lab

# capabilities(7), in the order of their numbers.
CAPABILITIES = (
    *("CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP"),
    *("LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER"),
    *("SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE"),
    *("SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP"),
    *("MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF"),
    "CHECKPOINT_RESTORE",
)
WITHHELD = frozenset({"SYS_TIME"})  # a host of the lab must not set this machine's clock
# Devices that a host's services open, if the machine has them: kubelet, OVS and libvirt, fuse file systems, KVM.
DEVICES = ("/dev/kmsg", "/dev/net/tun", "/dev/fuse", "/dev/kvm", "/dev/vhost-net")
_SHARES = 1024  # weight of a control group, against others beside it


def capabilities(bounding: int) -> list[str]:
    """Return the names of the capabilities in the mask ``bounding`` (``CapBnd`` of /proc/self/status)."""
    return [f"CAP_{name}" for bit, name in enumerate(CAPABILITIES) if bounding >> bit & 1 and name not in WITHHELD]


def bounding_set(status: str) -> int:
    """Return the mask ``CapBnd`` in ``status``, the text of /proc/self/status."""
    return int(next(line for line in status.splitlines() if line.startswith("CapBnd:")).split()[1], 16)


def device_nodes(paths: Iterable[str]) -> list[dict[str, Any]]:
    """Return OCI device entries for those of ``paths`` that are character devices of this machine."""
    nodes = []
    for path in paths:
        try:
            found = os.stat(path)  # noqa: PTH116 (a device number, not a path, is wanted)
        except OSError:
            continue
        if stat.S_ISCHR(found.st_mode):
            device = found.st_rdev
            nodes.append(
                {"path": path, "type": "c", "major": os.major(device), "minor": os.minor(device)}
                | {"fileMode": stat.S_IMODE(found.st_mode) | 0o600, "uid": 0, "gid": 0}
            )
    return nodes


def runtime_config(
    lab: Lab,
    host: LabHost,
    *,
    volumes: Sequence[str],
    netns: Path,
    caps: Sequence[str],
    devices: Sequence[dict[str, Any]],
    kernel_modules: Path | None,
) -> dict[str, Any]:
    """Return the runtime configuration (OCI runtime-spec 1.0) of ``host``.

    ``volumes``: absolute paths in the host that are stored outside its root file system. ``kernel_modules``: this
    machine's directory of loadable modules; None for a kernel without any.
    """
    own = [_bind(lab.home(host.name) / "volumes" / path.strip("/"), path) for path in volumes]
    if kernel_modules:
        own.append(_bind(kernel_modules, "/usr/lib/modules", "ro"))
    names = list(caps)
    return {
        "ociVersion": "1.0.2",
        "hostname": host.name,
        "root": {"path": str(lab.rootfs(host.name)), "readonly": False},
        "process": {
            "terminal": False,
            "user": {"uid": 0, "gid": 0},
            "cwd": "/",
            "args": ["/sbin/init"],
            # `container` tells systemd that it does not run on bare hardware.
            "env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "container=oci"],
            "capabilities": dict.fromkeys(("bounding", "effective", "permitted"), names),
            "noNewPrivileges": False,
        },
        "mounts": [*_kernel_mounts(), *own],
        "linux": {
            "namespaces": [
                *({"type": kind} for kind in ("pid", "ipc", "uts", "mount", "cgroup")),
                {"type": "network", "path": str(netns)},
            ],
            "cgroupsPath": f"{lab.cgroup}/{host.name}",
            "rootfsPropagation": "private",
            "resources": {
                "devices": [{"allow": True, "access": "rwm"}],
                # Emulated guests take all that there is: without a larger share the cloud's APIs answer after minutes.
                "cpu": {"shares": _SHARES * (4 if {"control", "worker"} & set(host.roles) else 1)},
            },
            "devices": list(devices),
            "maskedPaths": [],
            "readonlyPaths": [],
        },
    }


def _kernel_mounts() -> list[dict[str, Any]]:
    safe = ["nosuid", "noexec", "nodev"]
    return [
        _mount("/proc", "proc", safe),
        _mount("/sys", "sysfs", safe),
        _mount("/sys/fs/cgroup", "cgroup", [*safe, "relatime", "rw"]),
        _mount("/dev", "tmpfs", ["nosuid", "strictatime", "mode=755", "size=65536k"]),
        _mount("/dev/pts", "devpts", ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"]),
        _mount("/dev/shm", "tmpfs", ["nosuid", "nodev", "mode=1777"]),  # noqa: S108  # a mount of the container
        _mount("/dev/mqueue", "mqueue", safe),
        _mount("/run", "tmpfs", ["nosuid", "nodev", "mode=755"]),
        _mount("/run/lock", "tmpfs", [*safe, "mode=1777", "size=5m"]),
    ]


def _mount(where: str, kind: str, options: list[str]) -> dict[str, Any]:
    return {"destination": where, "type": kind, "source": kind, "options": options}


def _bind(source: Path, where: str, *options: str) -> dict[str, Any]:
    return {"destination": where, "type": "bind", "source": str(source), "options": ["rbind", "rprivate", *options]}
