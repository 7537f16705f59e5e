"""Block devices for OSDs: refuse any device that is in use or holds data."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection
from pathlib import Path

from .._base.errors import GroundupError
from .._base.run import attempt, run

MAGIC = b"bluestore block device\n"
GIB = 1024**3
REPLICAS = tuple(
    size * GIB for size in (0, 1, 10, 100, 1000)
)  # offsets of BlueStore's labels; wipefs knows only the first


def refuse_used(device: str, *, ours: Collection[str] = ()) -> None:
    """Refuse a device missing, in use or not empty; ``ours``: this host's OSD ids. Raises GroundupError, OSError."""
    path = Path(device)
    if not path.exists():
        raise _refusal(device, "there is no such device", remedy="correct its path under hardware.<name>.osds")
    if not stat.S_ISBLK(path.stat().st_mode):
        raise _refusal(device, "it is no block device", remedy="correct its path under hardware.<name>.osds")
    # Check use before content, so that the error names a mounted disk as mounted.
    said = run(["lsblk", "--json", "--paths", "--output", "NAME,TYPE,MOUNTPOINTS", device])
    try:
        (tree,) = json.loads(said)["blockdevices"]
    except (ValueError, LookupError, TypeError):
        raise _refusal(device, f"lsblk does not say what uses it: {said.strip() or 'no output'}") from None
    mounted = [name for name in tree.get("mountpoints") or () if name]
    if mounted:
        raise _refusal(device, f"it is mounted on {', '.join(mounted)}")
    if children := [one["name"] for one in tree.get("children", ())]:
        raise _refusal(device, f"it has partitions or volumes: {', '.join(children)}")
    holders = Path("/sys/dev/block") / f"{os.major(path.stat().st_rdev)}:{os.minor(path.stat().st_rdev)}" / "holders"
    if holders.is_dir() and (names := sorted(one.name for one in holders.iterdir())):
        raise _refusal(device, f"{', '.join(names)} of this host uses it")
    try:
        os.close(os.open(device, os.O_RDONLY | os.O_EXCL))  # the kernel knows users of every mount namespace
    except OSError as error:
        raise _refusal(device, f"the kernel does not give it away ({error.strerror})") from error
    refuse_signed(device, ours=ours)


def refuse_signed(device: str, *, ours: Collection[str] = ()) -> None:
    """Refuse a ``device`` with a signature: partition table, file system, LVM, RAID, an OSD. Raises GroundupError."""
    found = labels(device)
    if mine := [one for one in found if one in ours]:
        raise _refusal(
            device,
            f"it holds an OSD of this cluster: {', '.join(mine)}",
            remedy="its data may be whole: put the disk back into its place, or restore /var/lib/ceph/osd/ceph-<number>"
            " (ceph osd dump knows the number by the id). Only when it is `destroyed` there, or ceph osd "
            f"safe-to-destroy <number> agrees: {zap(device)}",
        )
    if found:
        raise _refusal(device, f"it holds an OSD: {', '.join(found)}")
    # --probe reads the device itself, not a cache or udev's data.
    probed = attempt(["blkid", "--probe", "--output", "export", device])
    tags = dict(line.split("=", 1) for line in probed.stdout.splitlines() if "=" in line)
    said = " ".join((probed.stdout + probed.stderr).split())
    if probed.returncode == 2 and not said:
        return  # nothing is on it
    if probed.returncode == 8:  # several signatures: ambivalent
        raise _refusal(device, "it holds signatures of several kinds")
    if probed.returncode:
        raise _refusal(device, f"blkid cannot say what it holds (exit code {probed.returncode}): {said or 'no output'}")
    if kind := tags.get("PTTYPE"):
        raise _refusal(device, f"it has a partition table ({kind})")
    if kind := tags.get("TYPE"):
        raise _refusal(device, f"it holds {kind}" + (f" (label {tags['LABEL']})" if "LABEL" in tags else ""))
    # Of an empty partition, blkid says where it is in its disk's table.
    if not any(name.startswith("PART_ENTRY_") for name in tags) or any(
        name != "DEVNAME" and not name.startswith("PART_ENTRY_") for name in tags
    ):
        raise _refusal(device, f"it holds what blkid names so: {said or 'no output'}")


def labels(device: str) -> list[str]:
    """Return the OSD ids in BlueStore's labels on ``device``; [] without a label or device. Raises OSError."""
    found = []
    if not Path(device).exists():
        return []
    try:
        with Path(device).open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            for offset in REPLICAS:
                if offset + len(MAGIC) + 36 > size:
                    break
                stream.seek(offset)
                start = stream.read(len(MAGIC) + 36)
                if start.startswith(MAGIC):
                    found.append(start[len(MAGIC) :].decode("ascii", "replace"))
    except OSError as error:
        error.filename = device  # the error of a read has no file name
        raise
    return list(dict.fromkeys(found))


def _refusal(device: str, what: str, *, remedy: str = "") -> GroundupError:
    return GroundupError(
        f"{device} is not taken for an OSD: {what}",
        where=f"this host, {device}",
        why="an OSD overwrites the whole device, and what is on it would be lost",
        remedy=remedy
        or f"name another device; if nothing on it is needed: wipefs --all {device} (an OSD: "
        f"{zap(device)}), then run this again",
    )


def zap(device: str) -> str:
    """Return the command that clears all BlueStore labels of ``device``."""
    return f"ceph-bluestore-tool zap-device --dev {device} --yes-i-really-really-mean-it"
