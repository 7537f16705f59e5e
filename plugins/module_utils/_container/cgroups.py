"""Find, empty and remove the control groups of a lab, on machines with one hierarchy (v2) or many (v1, hybrid).

runc creates them below ``/groundup`` (its ``cgroupfs`` driver), even where systemd is the machine's init: systemd
ignores top-level groups that it did not create, and the kernel keeps controllers that they use. The groups below a
host's group belong to the host's own systemd.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from .._base.errors import GroundupError
from .._base.wait import wait_until
from .._preflight.system import CONTROLLERS

MOUNTS = Path("/proc/self/mountinfo")
BELOW = Path("/sys/fs/cgroup")


def hierarchies(mounts: Path = MOUNTS) -> list[Path]:
    """Return the mount points of control groups: one with v2, one per controller or set of controllers with v1.

    They are found by the type of the mount, as with statfs(2), not by assumed paths.
    """
    found = []
    for line in mounts.read_text().splitlines():
        # proc(5): optional fields end with a single hyphen; the file system type follows.
        before, _, after = line.partition(" - ")
        point, kind = Path(before.split()[4]), after.split()[0]
        if kind in ("cgroup", "cgroup2") and (point == BELOW or BELOW in point.parents):
            found.append(point)
    return sorted(set(found))


def faults(tops: list[Path]) -> Iterator[tuple[str, str]]:
    """Yield why no group with limits can be made below ``tops``, and the remedy. With v1, runc itself tells."""
    if not tops:
        yield "no control groups", "mount -t cgroup2 cgroup2 /sys/fs/cgroup, or boot a kernel with control groups"
    for top in tops:
        if not os.access(top, os.W_OK):
            yield f"{top} is read-only", "run the lab on a machine, or in a container that may write its control groups"
        if len(tops) > 1 or not (top / "cgroup.controllers").exists():
            continue
        if missing := [name for name in CONTROLLERS if name not in _words(top / "cgroup.controllers")]:
            yield (
                f"control groups lack {', '.join(missing)}",
                "take cgroup_disable= off the kernel's command line; in a container: have it delegated them",
            )
        # Only the machine's own root may hold processes and have groups with controllers; it has no type.
        if (top / "cgroup.type").exists() and _words(top / "cgroup.procs"):
            yield (
                "processes are in the root of this container's control groups",
                "give the container an init that makes groups of its own: systemd",
            )


def groups(path: str, tops: list[Path] | None = None) -> list[Path]:
    """Return the directories of the control group ``path`` and of all below it, in every hierarchy, deepest first."""
    places = [top / path.lstrip("/") for top in (hierarchies() if tops is None else tops)]
    found = [directory for place in places if place.is_dir() for directory in (place, *_below(place))]
    return sorted(set(found), key=lambda directory: len(directory.parts), reverse=True)


def populated(path: str, tops: list[Path] | None = None) -> set[int]:
    """Return the process ids in the control group ``path`` and all below it."""
    pids: set[int] = set()
    for directory in groups(path, tops):
        with contextlib.suppress(OSError):  # gone meanwhile
            pids.update(int(pid) for pid in (directory / "cgroup.procs").read_text().split())
    return pids - {0}


def kill_group(path: str) -> None:
    """Kill every process of the control group ``path``. Raises GroundupError when one remains."""

    def left() -> set[int]:
        pids = populated(path)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return pids

    if pids := wait_until(left, timeout=10, pause=0.05):
        raise GroundupError(
            f"processes of control group {path} do not end: {sorted(pids)}",
            where="this machine",
            why="a host is not gone before its processes are",
            remedy="see what they wait for: cat /proc/PID/stack",
        )


def remove_groups(path: str, *, only_if_empty: bool = False) -> None:
    """Remove a control group with those below (``only_if_empty``: without any). Raises GroundupError for remains."""

    def left() -> list[Path]:
        found = groups(path)
        if only_if_empty and any(_below(directory) for directory in found):
            return []
        for directory in found:
            with contextlib.suppress(OSError):  # the kernel releases a group shortly after its last process
                directory.rmdir()
        return groups(path)

    if stuck := wait_until(left, timeout=5, pause=0.05):
        raise GroundupError(
            f"control groups that cannot be removed: {', '.join(map(str, stuck))}",
            where="this machine",
            why="the next lab of that name would find them",
            remedy="see what is in their cgroup.procs",
        )


def _words(path: Path) -> list[str]:
    return path.read_text(encoding="ascii").split()


def _below(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_dir()]
