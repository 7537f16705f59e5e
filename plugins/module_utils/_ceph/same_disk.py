"""Tell whether two paths lead to one disk: a symlink, a partition, a device-mapper name, or a second path to it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from .._base.errors import GroundupError
from .._base.files import read
from .model import OsdDaemon

SYS = Path("/sys/dev/block")
_NAMES = ("wwid", "device/wwid"), ("serial", "device/serial", "device/vpd_pg80")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A block device, or one that it lies on."""

    number: str  # "8:17"; of a file: its file system and inode
    part: tuple[str, str]  # number and start of a partition, empty for a whole device
    size: str
    names: tuple[str, ...]  # world wide name and serial of its disk, "" where it has none

    def same(self, other: Layer) -> bool:
        """Return whether both are one device, or its equal by each name that both have: a LUN has several paths."""
        if self.number == other.number:
            return True
        shared = [(mine, theirs) for mine, theirs in zip(self.names, other.names, strict=True) if mine and theirs]
        equal = bool(shared) and all(mine == theirs for mine, theirs in shared)
        return equal and (self.part, self.size) == (other.part, other.size)


def refuse(osds: Sequence[OsdDaemon]) -> None:
    """Refuse two OSDs of this host on one disk, or on a disk and a part of it. Raises GroundupError, OSError."""
    seen: list[tuple[str, list[Layer], list[Layer]]] = []
    for device in (one.device for one in osds if one.device and Path(one.device).exists()):
        number = _number(Path(device))
        itself, below = [_layer(number), *_paths(number)], list(_below(number))
        for other, same, under in seen:
            pairs = [*product(itself, [*same, *under]), *product(same, below)]
            if any(one.same(two) for one, two in pairs):
                raise GroundupError(
                    f"{other} and {device} are one disk, or one is a part of the other",
                    where=f"this host, {Path(other).resolve()} and {Path(device).resolve()}",
                    why="two OSDs would be written over each other, and the data of the first be lost",
                    remedy="leave one out under hardware.<name>.osds, or correct its path (ls -l /dev/disk/*, lsblk)",
                )
        seen.append((device, itself, below))


def _number(path: Path) -> str:
    found = path.stat()
    if stat.S_ISBLK(found.st_mode):
        return f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}"
    return f"{found.st_dev}/{found.st_ino}"


def _layer(number: str) -> Layer:
    place, whole = _places(number)
    return Layer(
        number=number,
        part=(_said(place / "partition"), _said(place / "start") if whole != place else ""),
        size=_said(place / "size"),
        names=tuple(next(filter(None, (_said(whole / name) for name in kind)), "") for kind in _NAMES),
    )


def _paths(number: str) -> list[Layer]:
    """Return the paths of a multipath device: each is the same disk."""
    place, _ = _places(number)
    multipath = _said(place / "dm/uuid").startswith("mpath-")
    return [_layer(one) for one in _slaves(place)] if multipath else []


def _below(number: str) -> Iterator[Layer]:
    """Yield all that a device lies on: the disk of a partition, the slaves of a device-mapper or md device."""
    place, whole = _places(number)
    for one in [*([_said(whole / "dev")] if whole != place else []), *_slaves(place)]:
        yield _layer(one)
        yield from _below(one)


def _places(number: str) -> tuple[Path, Path]:
    """Return the kernel's directories of a device and of its whole disk."""
    place = (SYS / number).resolve()
    return place, place.parent if (place / "partition").exists() else place


def _slaves(place: Path) -> list[str]:
    return [_said(one) for one in sorted((place / "slaves").glob("*/dev"))]


def _said(path: Path) -> str:
    """Return what the kernel says, without padding and the header of a page of SCSI; "" where it says nothing."""
    return "".join(one for one in read(path) or "" if one.isprintable()).strip()
