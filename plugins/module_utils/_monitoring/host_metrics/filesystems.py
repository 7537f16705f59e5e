"""Whether file systems of disks take writes: by their super blocks.

Debian 13's node exporter (1.9.0) reads a mount's own options alone, which a fault does not change; and new kernels say
neither in /proc/mounts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .samples import Sample

MOUNTS = Path("/proc/1/mountinfo")  # systemd has this program see others
KINDS = {"btrfs", "ext2", "ext3", "ext4", "xfs"}
_TAKES_NONE = {"ro", "emergency_ro", "shutdown"}


def of_disks() -> Iterator[Sample]:
    """Yield whether each is read-only, once a device: at the place where it was mounted first."""
    seen = set[str]()
    for line in MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines():
        mount, _, super_block = line.partition(" - ")
        kind, device, options = super_block.split(" ")[:3]
        if kind in KINDS and device not in seen:
            seen.add(device)
            labels = {"device": device, "fstype": kind, "mountpoint": mount.split(" ")[4]}
            yield Sample("groundup_filesystem_readonly", not _TAKES_NONE.isdisjoint(options.split(",")), labels)
