"""What containers can change on this machine beyond their own namespaces, and how it is put back."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .cgroups import remove_groups
from .errors import LabError
from .names import CGROUP, RUN
from .run import run

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


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold ``directory``, made when missing, for this process alone. Who holds it may remove it."""
    while (handle := _hold(directory)) is None:
        pass
    try:
        yield
    finally:
        os.close(handle)


def _hold(directory: Path) -> int | None:
    """Return the lock on ``directory``; None when who held it before has removed it, so that it is another one now."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    fcntl.flock(handle, fcntl.LOCK_EX)
    with contextlib.suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(handle), directory.stat()):
            return handle
    os.close(handle)
    return None


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
    """Give every setting its value of ``before``; return what was changed. Raises LabError for those that refuse."""
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
        raise LabError("kernel settings that could not be put back: " + "; ".join(refused))
    return sorted(changed)


# --- the record of the machine as it was before any lab -------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """This machine before its first lab."""

    boot: str  # which start of the machine it was: a restart resets all of this by itself
    settings: dict[str, str]
    namespaces: bool  # whether /run/netns was there


def remember(directory: Path) -> None:
    """Make ``directory``, a lab's below RUN, and record the machine, unless that was done since it started."""
    with locked(RUN):
        directory.mkdir(mode=0o700, exist_ok=True)
        if _recorded() is None:
            netns = Path("/run/netns")
            baseline = {"boot": _boot(), "settings": settings(), "namespaces": netns.is_dir() and _is_mount(netns)}
            temporary = RUN / ".machine.json"
            temporary.write_text(json.dumps(baseline))
            temporary.replace(RUN / "machine.json")


def raise_limits(root: Path = SYSCTL) -> None:
    """Raise the limits that hosts share to what a lab needs; ``put_back`` restores what they were."""
    for name, least in LIMITS.items():
        if int((root / name).read_text()) < least:
            (root / name).write_text(f"{least}\n")


def put_back() -> list[str]:
    """Undo what labs changed on this machine, if no lab is left on it; return the settings that were changed."""
    changed: list[str] = []
    if not RUN.is_dir():
        return changed
    with locked(RUN):
        # Its directory, from `remember` on: a lab that has no process yet has raised the limits already.
        if any(path.is_dir() for path in RUN.iterdir()):
            return changed
        baseline = _recorded()
        if baseline is not None:
            changed = restore(baseline.settings)
            if not baseline.namespaces:
                _forget_namespaces_directory()
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


def _forget_namespaces_directory() -> None:
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
    """Take every mount at and below ``path`` away, also one that something still holds open. Raises LabError."""
    for point in mounts_below(path):
        _umount(point)


def _umount(point: Path) -> None:
    run("umount", "--lazy", str(point))


def _is_mount(path: Path) -> bool:
    return path in mounts_below(path)
