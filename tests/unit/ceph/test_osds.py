"""OSDs on whole devices: no data are overwritten, and they start again after a restart of the host."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import devices, osds

from .host import node, on_device
from .test_converge import cluster, host

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
