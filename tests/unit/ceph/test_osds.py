"""OSDs on whole devices: no data are overwritten, and they start again after a restart of the host."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import converge, devices, osds, replace

from .host import Host, node, on_device
from .test_converge import cluster, host, made, step

__all__ = ["cluster", "host"]  # fixtures


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the devices that were asked whether they hold data."""
    found: list[str] = []
    monkeypatch.setattr(devices, "refuse_used", found.append)
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
    monkeypatch.setattr(converge, "SYSTEMD", tmp_path / "systemd")
    monkeypatch.setattr(replace, "holds", lambda *_: True)
    monkeypatch.setattr(shutil, "chown", lambda *_: None)
    on_disk = node(osds=[on_device(tmp_path / "disk")])
    made(on_disk)
    (written,) = (tmp_path / "systemd").rglob("*.conf")
    assert f"/bin/chown ceph:ceph {tmp_path / 'disk'}\n" in written.read_text()
    host.verbs.clear()
    assert (step(of=on_disk)["changed"], host.verbs) == (False, [])
