"""Which file systems a host tells of, and how one that its kernel has made read-only is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics import filesystems
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics.samples import text


def told(place: Path, monkeypatch: pytest.MonkeyPatch, *mounts: str) -> set[str]:
    """Return what is told of ``mounts``: each its place, its own options, type, device and super block's options."""
    lines = []
    for number, mount in enumerate(mounts):
        at, own, kind, device, options = mount.split()
        lines.append(f"{number} 1 8:1 / {at} {own},relatime shared:{number} - {kind} {device} {options},discard\n")
    (place / "mountinfo").write_text("".join(lines))
    monkeypatch.setattr(filesystems, "MOUNTS", place / "mountinfo")
    return {line.removeprefix("groundup_filesystem_readonly") for line in text(filesystems.of_disks()).splitlines()}


@pytest.mark.parametrize(
    ("options", "value"),
    [("rw", 0), ("rw,errors=remount-ro", 0), ("ro,errors=remount-ro", 1), ("rw,emergency_ro", 1), ("rw,shutdown", 1)],
)
def test_the_super_block_says_whether_a_file_system_takes_writes(
    options: str, value: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = told(tmp_path, monkeypatch, f"/ rw ext4 /dev/vda1 {options}")
    assert found == {f'{{device="/dev/vda1",fstype="ext4",mountpoint="/"}} {value}'}


def test_one_that_is_mounted_again_is_told_once_and_what_is_on_no_disk_of_the_host_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = told(
        tmp_path, monkeypatch,
        "/srv rw xfs /dev/vdb rw", "/srv/pods ro xfs /dev/vdb rw", "/tools ro squashfs /dev/loop0 ro",
        "/cd ro iso9660 /dev/sr0 ro", "/run rw tmpfs tmpfs ro", "/share rw nfs4 server:/share ro",
        "/data rw btrfs /dev/mapper/data ro",
    )  # fmt: skip
    assert found == {
        '{device="/dev/vdb",fstype="xfs",mountpoint="/srv"} 0',
        '{device="/dev/mapper/data",fstype="btrfs",mountpoint="/data"} 1',
    }
