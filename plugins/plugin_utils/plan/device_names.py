"""Tell from two device paths alone whether they are one disk, or a disk and a part of it. Pure.

By no means all: a path by slot and one by name are compared on the host, by what its kernel says.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

# A partition's path, and that of its disk.
_PARTS = (
    re.compile(r"(/dev/(?:disk/by-[a-z]+|mapper)/.+)-part(\d+)"),
    re.compile(r"(/dev/(?:[shv]|xv)d[a-z]+)(\d+)"),
    re.compile(r"(/dev/(?:nvme\d+n|mmcblk|md|loop|nbd)\d+)p(\d+)"),
)
# A world wide name is in several links: wwn-0x5000c500a1b2c3d4, scsi-35000c500a1b2c3d4, nvme-eui.0025388b71b1a2c3.
_WORLD_WIDE = re.compile(
    r"/dev/(?:disk/by-id/(?:wwn-(?:0x)?|scsi-[238]|dm-uuid-mpath-[238]|dm-name-[238]|nvme-)|mapper/[238])"
    r"(?:eui\.|uuid\.|naa\.)?([0-9a-f]{16,32})"
)
# Model and serial number: ata-MODEL_SERIAL, scsi-SATA_MODEL_SERIAL, scsi-1ATA_MODEL_SERIAL, nvme-MODEL_SERIAL_1.
_SERIAL = re.compile(r"/dev/disk/by-id/(?:ata-|scsi-SATA_|scsi-[01]ATA_|nvme-)(.+)_([^_]+)")
_NAMESPACE = re.compile(r"(/dev/disk/by-id/nvme-.+_.+)_1")
_ATA = re.compile(r"(/dev/disk/by-path/.+-ata-\d+)\.0")  # two links to one port


@dataclass(frozen=True, slots=True)
class _Name:
    disk: str
    part: str
    model: str = ""


def overlap(one: str, other: str) -> bool:
    """Return whether ``one`` and ``other`` are surely one disk, one partition, or a disk and a partition of it."""
    a, b = _read(one), _read(other)
    alike = a.model.startswith(b.model) or b.model.startswith(a.model)  # some links have a model cut short
    return a.disk == b.disk and alike and (a.part == b.part or not (a.part and b.part))


def _read(device: str) -> _Name:
    path, part = posixpath.normpath(device), ""
    for pattern in _PARTS:
        if found := pattern.fullmatch(path):
            path, part = found[1], found[2]
            break
    for same in (_NAMESPACE, _ATA):
        if found := same.fullmatch(path):
            path = found[1]
    if found := _WORLD_WIDE.fullmatch(path.lower()):
        return _Name(found[1], part)
    if found := _SERIAL.fullmatch(path):
        return _Name(f"serial {found[2]}", part, found[1])
    return _Name(path, part)
