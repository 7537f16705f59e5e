"""What containers can change on this machine beyond their own namespaces, and how it is put back."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .._base.errors import GroundupError
from .._base.files import write_file
from .._base.locks import locked
from .._base.run import run
from .cgroups import remove_groups
from .names import CGROUP, RUN

SYSCTL = Path("/proc/sys")
# The settings every container shares with the machine; net/ belongs to each network namespace.
SHARED = ("dev", "fs", "kernel", "vm")
# Not settings but counters, commands, or another namespace's own.
VOLATILE = frozenset(
    {
        *("kernel/ns_last_pid", "kernel/tainted", "kernel/cad_pid", "kernel/hostname", "kernel/domainname"),
        *("vm/drop_caches", "vm/compact_memory", "vm/stat_refresh"),
    }
)
VOLATILE_BELOW = ("kernel/random/", "fs/binfmt_misc/", "fs/mqueue/")
# Limits that all hosts of this machine's labs draw on: kubelet, containerd, kube-proxy and systemd watch many files,
# and the kernel's default of 128 watchers is used up by two labs.
LIMITS = {"fs/inotify/max_user_instances": 8192, "fs/inotify/max_user_watches": 524288}


# --- kernel settings ------------------------------------------------------------------------------


def settings(root: Path = SYSCTL) -> dict[str, str]:
    """Return every machine-wide kernel setting below ``root`` that can be written, by its path."""
    found = {}
    for top in SHARED:
        for path in (root / top).rglob("*"):
            name = str(path.relative_to(root))
            if name in VOLATILE or name.startswith(VOLATILE_BELOW) or not path.is_file():
                continue
            if path.stat().st_mode & 0o600 == 0o600:
                with contextlib.suppress(OSError):  # some answer only in some states of the machine
                    found[name] = path.read_text().rstrip("\n")
    return found


def restore(before: Mapping[str, str], root: Path = SYSCTL) -> list[str]:
    """Give every setting its value of ``before``; return those changed. Raises GroundupError when one refuses."""
    changed: set[str] = set()
    for _ in range(2):  # setting one of a pair (dirty_ratio, dirty_bytes) changes the other
        now = settings(root)
        different = {name: value for name, value in before.items() if now.get(name, value) != value}
        for name, value in different.items():
            with contextlib.suppress(OSError):  # what still differs is reported below
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


# --- the record of the machine as it was before any lab -------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """This machine before its first lab."""

    boot: str  # which start of the machine it was: a restart resets all of this by itself
    settings: dict[str, str]
    namespaces: bool  # whether /run/netns was there


def record(directory: Path) -> None:
    """Make ``directory``, a lab's below RUN, and record the machine, unless that was done since it started."""
    with locked(RUN, directory=True):
        directory.mkdir(mode=0o700, exist_ok=True)
        if _recorded() is None:
            netns = Path("/run/netns")
            baseline = {"boot": _boot(), "settings": settings(), "namespaces": netns.is_dir() and _is_mount(netns)}
            write_file(RUN / "machine.json", json.dumps(baseline).encode(), mode=0o600)


def raise_limits(root: Path = SYSCTL) -> None:
    """Raise the limits that hosts share to what a lab needs; ``restore_machine`` restores what they were."""
    for name, least in LIMITS.items():
        if int((root / name).read_text()) < least:
            (root / name).write_text(f"{least}\n")


def restore_machine() -> list[str]:
    """Undo what labs changed on this machine, if no lab is left on it; return the settings that were changed."""
    changed: list[str] = []
    if not RUN.is_dir():
        return changed
    with locked(RUN, directory=True):
        # Its directory, from `record` on: a lab that has no process yet has raised the limits already.
        if any(path.is_dir() for path in RUN.iterdir()):
            return changed
        baseline = _recorded()
        if baseline is not None:
            changed = restore(baseline.settings)
            if not baseline.namespaces:
                _remove_namespaces_directory()
        remove_groups(f"/{CGROUP}", only_if_empty=True)
        shutil.rmtree(RUN)
    return changed


def _recorded() -> Baseline | None:
    with contextlib.suppress(FileNotFoundError, ValueError, TypeError):
        baseline = Baseline(**json.loads((RUN / "machine.json").read_text()))
        return baseline if baseline.boot == _boot() else None
    return None


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _remove_namespaces_directory() -> None:
    """`ip netns add` mounts /run/netns on itself for good; take it away when nothing else has come to use it."""
    path = Path("/run/netns")
    if path.is_dir() and not any(path.iterdir()):
        if _is_mount(path):
            _umount(path)
        path.rmdir()


# --- mounts ---------------------------------------------------------------------------------------


def mounts_below(path: Path) -> list[Path]:
    """Return the mount points at and below ``path``, those on top first."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        point = Path(line.split()[4].encode().decode("unicode_escape"))  # proc(5): spaces as \040
        if point == path or path in point.parents:
            found.append(point)
    return found[::-1]


def unmount(path: Path) -> None:
    """Take every mount at and below ``path`` away, also one that something still holds open. Raises GroundupError."""
    for point in mounts_below(path):
        _umount(point)


def _umount(point: Path) -> None:
    run(["umount", "--lazy", str(point)])


def _is_mount(path: Path) -> bool:
    return path in mounts_below(path)
