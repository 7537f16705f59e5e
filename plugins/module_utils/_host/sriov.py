"""What a machine lacks for virtual functions of its network cards (SR-IOV). Python 3.9: preflight asks it, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path("/")
SWITCH = "ovs-system"  # Open vSwitch's, above each of its ports


def lacking(cards: Mapping[str, int], *, root: Path = ROOT) -> Iterator[tuple[str, str]]:
    """Yield what the machine lacks for ``cards`` (functions by port), with the field, and what it has instead."""
    if cards and not any((root / "sys/kernel/iommu_groups").glob("*")):
        yield "sriov: no IOMMU (VT-d, AMD-Vi in the firmware; intel_iommu=on)", "/sys/kernel/iommu_groups is empty"
    for card, functions in cards.items():
        port = root / "sys/class/net" / card
        if not port.exists():
            yield f"sriov.{card}: there is no such port", f"it has {', '.join(_ports(root))}"
            continue
        total = number(card, "sriov_totalvfs", root=root)
        if total < functions:
            yield f"sriov.{card}.functions: {functions}, and the card cannot have as many", f"sriov_totalvfs: {total}"
        above = sorted(one.name.partition("_")[2] for one in port.glob("upper_*"))
        if others := [name for name in above if name != SWITCH]:
            yield f"sriov.{card}: bonds, bridges or VLANs of the host are on it", ", ".join(others)


def number(card: str, name: str, *, root: Path = ROOT) -> int:
    """Return what the kernel says of a card's virtual functions (``sriov_numvfs``, ...); 0: it has none."""
    try:
        return int((root / "sys/class/net" / card / "device" / name).read_text())
    except (OSError, ValueError):
        return 0


def _ports(root: Path) -> list[str]:
    return sorted(one.name for one in (root / "sys/class/net").glob("*") if (one / "device").exists()) or ["none"]
