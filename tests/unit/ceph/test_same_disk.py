"""One disk is one OSD, by whatever paths it is named. Directories stand for the kernel's."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import devices, disk, osds, same_disk

from .host import Host, Monitors, node, on_device
from .test_converge import cluster, host, made

__all__ = ["cluster", "host"]  # fixtures
WWN, SERIAL = "naa.5000c500a1b2c3d4", "\x00\x80\x00\x08Z1Z2ABCD"


class Kernel:
    """Block devices below a directory, as sysfs has them."""

    def __init__(self, root: Path) -> None:
        self.root, self.at = root, root / "sys/dev/block"
        self.at.mkdir(parents=True)

    def disk(self, number: str, *, under: str = "", **says: str) -> Path:
        place = (self.at / under).resolve() / f"d{number}" if under else self.root / "devices" / f"d{number}"
        (place / "device").mkdir(parents=True)
        for name, text in {"dev": number, "size": "1000", **says}.items():
            path = place / name.replace("__", "/")
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"{text}\n")
        (self.at / number).symlink_to(place)
        return place

    def over(self, number: str, *slaves: str, uuid: str) -> None:
        place = self.disk(number, dm__uuid=uuid)
        for slave in slaves:
            (place / "slaves").mkdir(exist_ok=True)
            (place / "slaves" / slave).symlink_to((self.at / slave).resolve())


@pytest.fixture
def name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Return a function that makes a path to a device number."""
    numbers: dict[str, str] = {}
    monkeypatch.setattr(same_disk, "SYS", tmp_path / "sys/dev/block")
    monkeypatch.setattr(same_disk, "_number", lambda path: numbers[str(path)])

    def named(path: str, number: str) -> Path:
        place = tmp_path / path
        place.touch()
        numbers[str(place)] = number
        return place

    return named


def machine(root: Path) -> None:
    """Make a machine with two disks with parts, one of two paths and one of LVM."""
    kernel = Kernel(root)
    for number, serial in (("8:0", "S0"), ("8:16", "S1")):
        kernel.disk(number, device__wwid=f"naa.{serial}", device__serial=serial)
    for part in (1, 2):
        kernel.disk(f"8:1{6 + part}", under="8:16", partition=str(part), start=str(part * 2048))
    for number in ("8:32", "8:48"):
        kernel.disk(number, device__wwid=WWN, device__vpd_pg80=SERIAL)
        kernel.disk(f"{number}1", under=number, partition="1", start="2048")
    kernel.over("253:0", "8:32", "8:48", uuid="mpath-35000c500a1b2c3d4")
    kernel.disk("8:64", device__wwid="naa.S4")
    for volume in (1, 2):
        kernel.over(f"253:{volume}", "8:64", uuid=f"LVM-{volume}")
    kernel.over("253:9", "8:0", uuid="CRYPT-LUKS2-x")
    kernel.disk("9:0")
    (kernel.at / "9:0" / "slaves").mkdir()
    (kernel.at / "9:0" / "slaves" / "sdb1").symlink_to((kernel.at / "8:17").resolve())
    kernel.over("253:8", "253:0", uuid="part1-mpath-35000c500a1b2c3d4")
    # Vendors repeat names: two disks with one WWN or one serial, of two sizes, and some with none.
    kernel.disk("8:80", device__wwid="naa.0", device__serial="S5")
    kernel.disk("8:96", device__wwid="naa.0", device__serial="S6")
    kernel.disk("8:112", device__serial="0000", size="2000")
    kernel.disk("8:128", device__serial="0000", size="3000")
    kernel.disk("254:0")
    kernel.disk("254:16")


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("8:0", "8:0"), ("8:16", "8:17"), ("8:18", "8:16"), ("253:0", "8:32"), ("8:48", "253:0"), ("8:321", "253:0"),
        ("253:0", "8:481"), ("8:32", "8:48"), ("8:321", "8:48"), ("8:321", "8:481"), ("253:1", "8:64"),
        ("253:9", "8:0"), ("8:16", "9:0"), ("9:0", "8:17"), ("253:8", "8:48"), ("253:0", "253:8"),
    ],
    ids=[
        "two names", "disk and partition", "partition and disk", "multipath and path", "path and multipath",
        "a path's partition and multipath", "multipath and a path's partition", "two paths", "a path and a partition "
        "of another", "one partition by two paths", "logical volume and its disk", "encryption and its disk",
        "disk and RAID on its partition", "RAID and its member", "a partition of multipath and a path",
        "multipath and a partition of it",
    ],
)  # fmt: skip
def test_one_disk_by_two_paths_is_refused_by_both_names(
    tmp_path: Path, name: Callable[[str, str], Path], one: str, two: str
) -> None:
    machine(tmp_path)
    first, second = name("by-id", one), name("by-path", two)
    with pytest.raises(GroundupError, match=f"{first} and {second} are one disk"):
        same_disk.refuse([on_device(first), on_device(second)])


@pytest.mark.parametrize(
    ("one", "two"),
    [("8:0", "8:16"), ("8:17", "8:18"), ("253:1", "253:2"), ("8:80", "8:96"), ("8:112", "8:128"), ("254:0", "254:16")],
    ids=["two disks", "two partitions", "two volumes", "a repeated WWN", "a repeated serial", "disks without a name"],
)
def test_two_disks_are_two(tmp_path: Path, name: Callable[[str, str], Path], one: str, two: str) -> None:
    machine(tmp_path)
    same_disk.refuse([on_device(name("a", one)), on_device(name("b", two))])


@pytest.mark.usefixtures("host")
def test_a_chain_of_links_leads_to_one_disk_also_for_osds_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "refuse_used", lambda *_, **__: None)
    target, by_id, by_path = tmp_path / "sdb", tmp_path / "wwn", tmp_path / "pci"
    target.write_bytes(b"\0" * 8192)
    by_id.symlink_to(target)
    by_path.symlink_to(by_id)
    with pytest.raises(GroundupError, match="are one disk"):
        osds.check(node(osds=[on_device(by_id), on_device(by_path)]))


@pytest.mark.usefixtures("cluster")
def test_a_disk_is_looked_at_again_directly_before_mkfs(
    host: Host, cluster: Monitors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first OSD's mkfs writes its label where the second's is to be written: no check of names may show that."""
    first, second = on_device(tmp_path / "a"), on_device(tmp_path / "b")
    for one in (first, second):
        Path(str(one.device)).write_bytes(b"\0" * 8192)
    labels = {first.device: list[str](), second.device: list[str]()}

    def run(argv: list[str], **more: object) -> str:
        if argv[0] == "ceph-osd":
            for found in labels.values():
                found.append(argv[argv.index("--osd-uuid") + 1])
        return host.run(argv, **more)

    monkeypatch.setattr(osds, "run", run)
    monkeypatch.setattr(shutil, "chown", lambda *_: None)
    monkeypatch.setattr(devices, "labels", lambda device: labels[device])
    monkeypatch.setattr(devices, "refuse_used", devices.refuse_signed)
    with pytest.raises(
        GroundupError, match=f"/b is not taken for an OSD: it holds an OSD of this cluster: {first.uuid}"
    ):
        made(node(osds=[first, second]))
    assert len(list(disk.OSDS.glob("ceph-*"))) == 1
    assert len(cluster.numbers) == 2
