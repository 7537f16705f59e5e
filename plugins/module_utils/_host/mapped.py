"""Which units run programs and libraries from which files, by the memory maps of their processes. Reads only."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

PROC = Path("/proc")
# Where packages have programs and libraries. Code made at run time is mapped from elsewhere, and removed at once.
_PLACES = ("/usr/", "/lib", "/bin/", "/sbin/", "/opt/")
_GONE = " (deleted)"
_MAP = re.compile(r"^\S+ ..x\S* \S+ \S+ \d+ +(/.*)$", re.M)  # executable ones
_UNIT = re.compile(r"[^/]+\.(?:service|scope)(?=/|$)", re.M)
_GUEST = "qemu-system-"


@dataclass(slots=True, kw_only=True)
class Mapped:
    """Files of the host's processes, and how many of these are guests."""

    used: dict[str, set[str]] = field(default_factory=dict)  # unit -> files that it runs
    removed: dict[str, set[str]] = field(default_factory=dict)  # unit -> those that are gone from the disk
    guests: int = 0


def read(proc: Path = PROC) -> Mapped:
    """Return what the host's processes run. Those of containers have another root: an image's packages are its own."""
    own, found = _root(proc / "self"), Mapped()
    for process in sorted(proc.glob("[0-9]*")):
        with suppress(OSError):  # it has ended
            if _root(process) != own:
                continue
            unit = unit_of((process / "cgroup").read_text(encoding="utf-8"))
            for file in executables((process / "maps").read_text(encoding="utf-8", errors="replace")):
                place = found.removed if file.endswith(_GONE) else found.used
                place.setdefault(unit, set()).add(file.removesuffix(_GONE))
            found.guests += (process / "exe").readlink().name.startswith(_GUEST)
    return found


def executables(maps: str) -> set[str]:
    """Return the files of packages that are mapped as code in the text of a process's ``maps``."""
    return {file for file in _MAP.findall(maps) if file.startswith(_PLACES)}


def unit_of(cgroup: str) -> str:
    """Return the innermost unit of the system in the text of a process's ``cgroup``.

    Processes of users are "sessions", those of no unit "other processes".
    """
    if "/user.slice/" in cgroup:
        return "sessions"
    names = _UNIT.findall(cgroup)
    return str(names[-1]) if names else "other processes"


def _root(process: Path) -> tuple[int, int]:
    found = (process / "root").stat()
    return found.st_dev, found.st_ino
