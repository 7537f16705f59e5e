"""Disks of a machine, as its ramdisk tells of them: what is on them, and which one its system is written to. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._base.text import printable

SYSTEM_GIB = 4  # the image's
_GIB = 2**30
_LARGEST = 2**53
_UNTOLD: Mapping[str, Any] = {"label": "nobody told what is on it"}
# Fields of `system_disk` -> Ironic's root device hints; the ramdisk compares them without regard to case.
_HINTS = {"serial": "serial", "wwn": "wwn", "model": "model", "path": "by_path", "rotational": "rotational"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """One disk; `used` says what is on it."""

    name: str
    gib: int
    used: str = ""
    content: str = ""  # of a used one: which disk, how large, what is on it, and a digest of all that is told of that
    traits: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by Ironic's hint, lower case

    def is_what(self, wanted: Mapping[str, Any]) -> bool:
        """Say whether it is all that ``wanted``, a `system_disk` of the site file, says."""
        said = [(hint, str(wanted[name]).lower()) for name, hint in _HINTS.items() if name in wanted]
        return self.gib >= wanted.get("min_gb", 0) and all(word in self.traits.get(hint, ()) for hint, word in said)

    def __str__(self) -> str:
        told = (f"{hint} {word}" for hint in ("serial", "wwn", "model") for word in sorted(self.traits.get(hint, ())))
        return " ".join((self.name, f"{self.gib} GiB", *(printable(word)[:72] for word in told)))


def read_disk(one: Mapping[str, Any], partitions: Mapping[str, Mapping[str, Any]]) -> Disk:
    """Return a disk of an inventory. Raises KeyError, OverflowError, TypeError, ValueError where it is none."""
    name = str(one["name"]).removeprefix("/dev/")
    there, gib = partitions.get(name) or _UNTOLD, number(one.get("size")) // _GIB
    used, told = _used(there), json.dumps(there, sort_keys=True).replace(name, "")  # which may be another's next time
    digest = hashlib.sha256(told.encode()).hexdigest()[:8]
    which = printable(str(one.get("serial") or "").strip())[:64] or printable(name)
    return Disk(
        name=printable(name),
        gib=gib,
        used=used,
        content=f"{which}: {gib} GiB, {used} ({digest})",
        traits={hint: _values(one.get(hint)) for hint in _HINTS.values()},
    )


def root_device(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return Ironic's root device hints for a `system_disk` of the site file."""
    hints = {hint: wanted[name] for name, hint in _HINTS.items() if name in wanted}
    return hints | ({"size": f">= {wanted['min_gb']}"} if "min_gb" in wanted else {})


def lacks_system_disk(disks: Iterable[Disk], wanted: Mapping[str, Any] | None) -> str:
    """Return that no disk can take the system, empty when one can."""
    large = [disk for disk in disks if disk.gib >= SYSTEM_GIB]
    if not large or not wanted:
        return "" if large else f"no disk of {SYSTEM_GIB} GiB"
    if any(disk.is_what(wanted) for disk in large):
        return ""
    said = ", ".join(f"{name} {value}" for name, value in wanted.items())
    return f"no system disk ({said}) among {'; '.join(map(str, large))}"


def number(said: Any) -> int:
    """Return a number that is safe to compute with, 0 where none is said. Raises ValueError, OverflowError."""
    found = int(said or 0)
    if not 0 <= found <= _LARGEST:
        raise ValueError("a number is negative or too large")
    return found


def _values(said: Any) -> frozenset[str]:
    """Return what an inventory says of one trait: a word, several, or nothing."""
    values = said if isinstance(said, list) else [said]
    return frozenset(str(one).strip().lower() for one in values if one is not None)


def _used(disk: Mapping[str, Any]) -> str:
    """Return the partition table and the file systems of a disk, as lsblk shows it."""
    parts = [disk, *(disk.get("children") or ())]
    systems = [" ".join(filter(None, (part.get("fstype"), part.get("label")))) for part in parts]
    words = [f"{disk['pttype']} with {len(parts) - 1} partitions"] if disk.get("pttype") else []
    return printable(", ".join([*words, *filter(None, systems)]))[:200]
