"""Disks of a machine from its inventory: their contents, and the choice of the system disk. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._base.text import printable

SYSTEM_GIB = 4  # size of the image
_GIB = 2**30
_LARGEST = 2**53
_UNTOLD: Mapping[str, Any] = {"label": "nobody told what is on it"}
# Fields of `system_disk` -> Ironic's root device hints; the ramdisk compares them without regard to case.
_HINTS = {"serial": "serial", "wwn": "wwn", "model": "model", "path": "by_path", "rotational": "rotational"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """One disk; `used` describes its partitions and file systems."""

    name: str
    gib: int
    used: str = ""
    content: str = ""  # of a used disk: serial, size, `used`, and a digest of all that lsblk shows of it
    traits: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by Ironic's hint, lower case

    def is_what(self, wanted: Mapping[str, Any]) -> bool:
        """Return whether the disk meets all of ``wanted``, a `system_disk` of the site file."""
        said = [(hint, str(wanted[name]).lower()) for name, hint in _HINTS.items() if name in wanted]
        return self.gib >= wanted.get("min_gb", 0) and all(word in self.traits.get(hint, ()) for hint, word in said)

    def __str__(self) -> str:
        told = (f"{hint} {word}" for hint in ("serial", "wwn", "model") for word in sorted(self.traits.get(hint, ())))
        return " ".join((self.name, f"{self.gib} GiB", *(printable(word)[:72] for word in told)))


def read_disk(one: Mapping[str, Any], partitions: Mapping[str, Mapping[str, Any]]) -> Disk:
    """Parse a disk of an inventory. Raises KeyError, OverflowError, TypeError, ValueError when it is invalid."""
    name = str(one["name"]).removeprefix("/dev/")
    there, gib = partitions.get(name) or _UNTOLD, number(one.get("size")) // _GIB
    used, told = _used(there), json.dumps(there, sort_keys=True).replace(name, "")  # kernel names change between boots
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
    return hints | ({"size": f">= {wanted.get('min_gb', SYSTEM_GIB)}"} if wanted else {})


def lacks_system_disk(disks: Iterable[Disk], wanted: Mapping[str, Any] | None) -> str:
    """Return the error when no disk can take the system, or several match ``wanted``; "" when it is clear which.

    Of several that match its hints Ironic takes the first by kernel name, which changes between boots.
    """
    large = [disk for disk in disks if disk.gib >= SYSTEM_GIB]
    if not large or not wanted:
        return "" if large else f"no disk of {SYSTEM_GIB} GiB"
    found = [disk for disk in large if disk.is_what(wanted)]
    if len(found) == 1:
        return ""
    said = ", ".join(f"{name} {value}" for name, value in wanted.items())
    if found:
        return f"{len(found)} disks that may be the system disk ({said}): {'; '.join(map(str, found))}"
    return f"no system disk ({said}) among {'; '.join(map(str, large))}"


def number(said: Any) -> int:
    """Return a number within safe bounds, 0 for none. Raises ValueError, OverflowError."""
    found = int(said or 0)
    if not 0 <= found <= _LARGEST:
        raise ValueError("a number is negative or too large")
    return found


def _values(said: Any) -> frozenset[str]:
    """Return a trait's values, in lower case: an inventory has one, a list, or none."""
    values = said if isinstance(said, list) else [said]
    return frozenset(str(one).strip().lower() for one in values if one is not None)


def _used(disk: Mapping[str, Any]) -> str:
    """Return the partition table and file systems of a disk, from lsblk's fields."""
    parts = [disk, *(disk.get("children") or ())]
    systems = [" ".join(filter(None, (part.get("fstype"), part.get("label")))) for part in parts]
    words = [f"{disk['pttype']} with {len(parts) - 1} partitions"] if disk.get("pttype") else []
    words += [f"{len(parts) - 1} parts"] if len(parts) > 1 and not words else []
    return printable(", ".join([*words, *filter(None, systems)]))[:200]
