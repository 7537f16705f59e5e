"""OSDs on whole devices: no data are overwritten, and they start again after a restart of the host."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import devices, disk, osds, replace

from .host import FOREIGN, FSID, Host, node, on_device
from .test_converge import cluster, host, made, step

__all__ = ["cluster", "host"]  # fixtures


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the devices that were asked whether they hold data."""
    found: list[str] = []
    monkeypatch.setattr(devices, "refuse_used", lambda device, **_: found.append(device))
    return found


@pytest.mark.parametrize(
    ("begun", "own", "asked"), [(True, False, True), (True, True, False), (False, True, True)],
    ids=["another disk in the place of one whose mkfs failed", "what a killed mkfs left", "an OSD whose host was lost"],
)  # fmt: skip
@pytest.mark.usefixtures("host")
def test_only_a_device_with_the_label_that_a_killed_run_wrote_is_not_looked_at(
    *, begun: bool, own: bool, asked: bool, looked_at: list[str], tmp_path: Path
) -> None:
    device = tmp_path / "disk"
    osd = on_device(device)
    device.write_bytes((devices.MAGIC + osd.uuid.encode() + b"\n" if own else b"photos").ljust(8192, b"\0"))
    if begun:
        osds.begun(osd).mkdir()
    osds.check(node(osds=[osd]))
    assert looked_at == ([str(device)] if asked else [])


@pytest.mark.usefixtures("looked_at")
def test_a_disk_belongs_to_its_osd_after_a_restart_from_the_first_run_on(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "SYSTEMD", tmp_path / "systemd")
    monkeypatch.setattr(replace, "holds", lambda *_: True)
    monkeypatch.setattr(shutil, "chown", lambda *_: None)
    on_disk = node(osds=[on_device(tmp_path / "disk")])
    made(on_disk)
    (written,) = (tmp_path / "systemd").rglob("*.conf")
    assert f"/bin/chown ceph:ceph {tmp_path / 'disk'}\n" in written.read_text()
    host.verbs.clear()
    assert (step(of=on_disk)["changed"], host.verbs) == (False, [])


@pytest.mark.parametrize(
    ("holds", "said"),
    [
        ("", r"osd\.5 of storage-1 has lost its data: \S+/a holds no OSD"),
        ("b", r"osd\.5 of storage-1 is not in its place: \S+/a holds the OSD of \S+/b\n"),
        (FOREIGN, rf"osd\.5 of storage-1 has lost its data: \S+/a holds {FOREIGN}"),
        (None, r"osd\.5 of storage-1 has lost its data: there is no \S+/a"),
    ],
    ids=["empty", "the disk of its neighbour", "another cluster's", "pulled"],
)
@pytest.mark.usefixtures("host")
def test_what_is_where_an_osd_was_is_named(*, holds: str | None, said: str, tmp_path: Path) -> None:
    own, neighbour = on_device(tmp_path / "a"), on_device(tmp_path / "b")
    (disk.OSDS / "ceph-5").mkdir()
    for name, text in {"fsid": own.uuid, "ceph_fsid": FSID}.items():
        (disk.OSDS / "ceph-5" / name).write_text(text)
    if holds is not None:
        label = devices.MAGIC + (neighbour.uuid if holds == "b" else holds).encode()
        (tmp_path / "a").write_bytes((label if holds else b"").ljust(8192, b"\0"))
    with pytest.raises(GroundupError, match=said) as caught:
        osds.check(node(osds=[own, neighbour]))
    assert ("storage_replace" in caught.value.remedy) is (holds != "b")


@pytest.mark.usefixtures("host")
def test_a_disk_that_fails_is_named_as_one_to_replace_and_needs_no_consent_for_that() -> None:
    failing = Path("/proc/self/mem")  # its size cannot be read
    osd = on_device(failing)
    (disk.OSDS / "ceph-5").mkdir()
    for name, text in {"fsid": osd.uuid, "ceph_fsid": FSID}.items():
        (disk.OSDS / "ceph-5" / name).write_text(text)
    with pytest.raises(GroundupError, match=r"osd\.5 of storage-1 has lost its data: \S+ cannot be read \(") as caught:
        osds.check(node(osds=[osd]))
    assert "storage_replace" in caught.value.remedy
    assert not replace.holds(osd, 5)
    with pytest.raises(OSError, match=str(failing)):  # a new OSD's: the error names the device
        devices.labels(str(failing))
