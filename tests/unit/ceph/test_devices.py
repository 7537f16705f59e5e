"""A device that holds anything is refused by name, and by what it holds. Files stand for devices here."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import zlib
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import devices

from .host import FOREIGN


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    path = tmp_path / "disk"
    with path.open("wb") as stream:
        stream.truncate(64 << 20)
    return path


def put(disk: Path, offset: int, content: bytes) -> None:
    with disk.open("r+b") as stream:
        stream.seek(offset)
        stream.write(content)


def test_an_empty_device_is_taken(disk: Path) -> None:
    devices.refuse_signed(str(disk))


@pytest.mark.parametrize(
    ("command", "held"),
    [(["mkfs.ext4", "-q", "-L", "photos"], r"it holds ext4 \(label photos\)"), (["mkswap"], "it holds swap")],
    ids=["file system", "swap"],
)
def test_what_a_device_holds_is_named(disk: Path, command: list[str], held: str) -> None:
    subprocess.run([*command, str(disk)], check=True, capture_output=True)
    with pytest.raises(GroundupError, match=held) as caught:
        devices.refuse_signed(str(disk))
    assert caught.value.where == f"this host, {disk}"


def test_a_partition_table_is_named(disk: Path) -> None:
    entry = bytes((0, 0, 0, 0, 0x83, 0, 0, 0)) + (2048).to_bytes(4, "little") + (4096).to_bytes(4, "little")
    put(disk, 446, entry.ljust(64, b"\0") + b"\x55\xaa")
    with pytest.raises(GroundupError, match=r"it has a partition table \(dos\)"):
        devices.refuse_signed(str(disk))


def test_lvm_is_named(disk: Path) -> None:
    # The label of a physical volume, in the second sector: id, sector, checksum of what follows, offset, type, id.
    summed = ((32).to_bytes(4, "little") + b"LVM2 001" + b"u" * 32).ljust(492, b"\0")
    checksum = zlib.crc32(summed, 0xF597A6CF ^ 0xFFFFFFFF) ^ 0xFFFFFFFF
    put(disk, 512, b"LABELONE" + (1).to_bytes(8, "little") + checksum.to_bytes(4, "little") + summed)
    with pytest.raises(GroundupError, match="it holds LVM2_member"):
        devices.refuse_signed(str(disk))


@pytest.mark.parametrize("offset", [0, devices.GIB])
def test_another_osd_is_named_also_where_only_a_copy_of_its_label_is_left(disk: Path, offset: int) -> None:
    with disk.open("r+b") as stream:
        stream.truncate(offset + (64 << 20))
    put(disk, offset, devices.MAGIC + FOREIGN.encode() + b"\n")
    with pytest.raises(GroundupError, match=f"it holds an OSD: {FOREIGN}"):
        devices.refuse_signed(str(disk))


def test_an_osd_of_this_cluster_is_not_to_be_wiped_before_ceph_says_so(disk: Path) -> None:
    put(disk, 0, devices.MAGIC + FOREIGN.encode() + b"\n")
    with pytest.raises(GroundupError, match=f"it holds an OSD of this cluster: {FOREIGN}") as caught:
        devices.refuse_signed(str(disk), ours=[FOREIGN])
    assert caught.value.remedy.index("safe-to-destroy") < caught.value.remedy.index("zap-device")


@pytest.mark.parametrize(
    ("code", "said", "fault"),
    [
        (4, "", ""),
        (2, "", "blkid: error: /dev/x: Permission denied"),
        (2, "DEVNAME=/dev/x", ""),
        (1, "", "blkid: cannot open shared object"),
        (127, "", ""),
        (-9, "", ""),
        (0, "", ""),
        (0, "DEVNAME=/dev/x", ""),
        (0, "DEVNAME=/dev/x\nUSAGE=other", ""),
        (0, "DEVNAME=/dev/x\nPART_ENTRY_NUMBER=1\nUSAGE=other", ""),
    ],
)  # fmt: skip
def test_a_device_is_empty_by_blkid_s_word_alone(
    disk: Path, monkeypatch: pytest.MonkeyPatch, code: int, said: str, fault: str
) -> None:
    monkeypatch.setattr(devices, "attempt", lambda argv: subprocess.CompletedProcess(argv, code, said, fault))
    with pytest.raises(GroundupError, match=r"is not taken for an OSD: (blkid cannot say|it holds)"):
        devices.refuse_signed(str(disk))


@pytest.mark.parametrize(("code", "said"), [(2, ""), (0, "DEVNAME=/dev/x\nPART_ENTRY_NUMBER=1")])
def test_nothing_found_is_an_empty_device_and_so_is_an_empty_partition(
    disk: Path, monkeypatch: pytest.MonkeyPatch, code: int, said: str
) -> None:
    monkeypatch.setattr(devices, "attempt", lambda argv: subprocess.CompletedProcess(argv, code, said, ""))
    devices.refuse_signed(str(disk))


@pytest.mark.parametrize("said", ["", "{}", "no json", '{"blockdevices": []}', '{"blockdevices": null}'])
def test_a_device_of_which_lsblk_says_nothing_is_refused(
    disk: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setattr(stat, "S_ISBLK", lambda _mode: True)
    monkeypatch.setattr(devices, "run", lambda _argv: said)
    with pytest.raises(GroundupError, match="lsblk does not say what uses it"):
        devices.refuse_used(str(disk))


def test_a_device_that_the_kernel_holds_for_another_is_refused(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(_path: str, flags: int) -> int:
        assert flags & os.O_EXCL
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(stat, "S_ISBLK", lambda _mode: True)
    monkeypatch.setattr(devices, "run", lambda _argv: '{"blockdevices": [{"name": "x", "mountpoints": [null]}]}')
    monkeypatch.setattr(os, "open", busy)
    with pytest.raises(GroundupError, match="Device or resource busy"):
        devices.refuse_used(str(disk))


def test_what_is_no_device_is_refused(disk: Path) -> None:
    with pytest.raises(GroundupError, match="it is no block device"):
        devices.refuse_used(str(disk))
    with pytest.raises(GroundupError, match="there is no such device"):
        devices.refuse_used("/dev/disk/by-path/nothing")
