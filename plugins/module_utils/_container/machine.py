"""Record and restore the machine-wide settings that labs change."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._base.errors import GroundupError
from .._base.files import write_file
from .._base.locks import locked
from .._base.run import run
from . import forwarding
from .cgroups import remove_groups
from .names import CGROUP, RUN

SYSCTL = Path("/proc/sys")
NETNS = Path("/run/netns")
# Settings that containers share with the machine; net/ is separate in each network namespace.
SHARED = ("dev", "fs", "kernel", "vm")
# Not settings: counters, commands, or values of a namespace.
VOLATILE = frozenset(
    {
        *("kernel/ns_last_pid", "kernel/tainted", "kernel/cad_pid", "kernel/hostname", "kernel/domainname"),
        *("vm/drop_caches", "vm/compact_memory", "vm/stat_refresh"),
    }
)
VOLATILE_BELOW = ("kernel/random/", "fs/binfmt_misc/", "fs/mqueue/")
# Limits shared by all lab hosts of this machine: kubelet, containerd, kube-proxy and systemd watch many files, and
# two labs use up the kernel's default of 128 watchers.
LIMITS = {"fs/inotify/max_user_instances": 8192, "fs/inotify/max_user_watches": 524288}


def settings(root: Path = SYSCTL) -> dict[str, str]:
    """Return all writable machine-wide kernel settings below ``root``: path to value."""
    found = {}
    for top in SHARED:
        for path in (root / top).rglob("*"):
            name = str(path.relative_to(root))
            if name in VOLATILE or name.startswith(VOLATILE_BELOW) or not path.is_file():
                continue
            if path.stat().st_mode & 0o600 == 0o600:
                with contextlib.suppress(OSError):  # some can be read only in certain states of the machine
                    found[name] = path.read_text().rstrip("\n")
    return found


def restore(before: Mapping[str, str], root: Path = SYSCTL) -> list[str]:
    """Restore every setting to its value in ``before``; return those changed. Raises GroundupError when one fails."""
    changed: set[str] = set()
    for _ in range(2):  # setting one of a pair (dirty_ratio, dirty_bytes) changes the other
        now = settings(root)
        different = {name: value for name, value in before.items() if now.get(name, value) != value}
        for name, value in different.items():
            with contextlib.suppress(OSError):  # remaining differences are reported below
                (root / name).write_text(value + "\n")
                changed.add(name)
    now = settings(root)
    refused = [f"{name} = {now[name]}, was {value}" for name, value in before.items() if now.get(name, value) != value]
    if refused:
        raise GroundupError(
            "kernel settings that could not be restored: " + "; ".join(refused),
            where="this machine, /proc/sys",
            why="the machine is to be as it was before its first lab",
            remedy="set them by hand, or restart the machine",
        )
    return sorted(changed)


def record(directory: Path) -> None:
    """Create ``directory``, a lab's below RUN, and record the machine's settings once per boot."""
    with locked(RUN, directory=True):
        directory.mkdir(mode=0o700, exist_ok=True)
        if _recorded() is None:
            # A restart of the machine resets all of this.
            baseline = {
                "boot": _boot(), "settings": settings(), "namespaces": NETNS in mounts_below(NETNS),
                forwarding.MODULE: forwarding.loaded(),
            }  # fmt: skip
            write_file(RUN / "machine.json", json.dumps(baseline).encode(), mode=0o600)


def raise_limits(root: Path = SYSCTL) -> None:
    """Raise the shared limits to what a lab needs; ``restore_machine`` restores the former values."""
    for name, least in LIMITS.items():
        if int((root / name).read_text()) < least:
            (root / name).write_text(f"{least}\n")


def restore_machine() -> list[str]:
    """Restore this machine if no lab is left on it; return the settings that were changed."""
    changed: list[str] = []
    if not RUN.is_dir():
        return changed
    with locked(RUN, directory=True):
        # A lab counts from `record` on: one without a process may already have raised the limits.
        if any(path.is_dir() for path in RUN.iterdir()):
            return changed
        if (before := _recorded()) is not None:
            changed = restore(before["settings"])
            if not before.get(forwarding.MODULE, True):
                forwarding.unload()
            if not before["namespaces"]:
                _remove_namespaces_directory()
        remove_groups(f"/{CGROUP}", only_if_empty=True)
        shutil.rmtree(RUN)
    return changed


def _recorded() -> dict[str, Any] | None:
    """Return this machine's settings from before its first lab; None when not recorded since boot."""
    with contextlib.suppress(FileNotFoundError, ValueError, KeyError):
        before: dict[str, Any] = json.loads((RUN / "machine.json").read_text())
        return before if before["boot"] == _boot() else None
    return None


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _remove_namespaces_directory() -> None:
    """Remove /run/netns, which `ip netns add` mounts permanently, when nothing else uses it."""
    if NETNS.is_dir() and not any(NETNS.iterdir()):
        unmount(NETNS)
        NETNS.rmdir()


def mounts_below(path: Path) -> list[Path]:
    """Return the mount points at and below ``path``, last mounted first."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        point = Path(line.split()[4].encode().decode("unicode_escape"))  # proc(5): spaces as \040
        if point == path or path in point.parents:
            found.append(point)
    return found[::-1]


def unmount(path: Path) -> None:
    """Unmount everything at and below ``path``, even while in use. Raises GroundupError."""
    for point in mounts_below(path):
        run(["umount", "--lazy", str(point)])
