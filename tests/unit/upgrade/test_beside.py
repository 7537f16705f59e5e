"""An upgrade beside a host that a run of patch left in maintenance."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch import journal as maintenance

from .running import SITE, asked, step

pytestmark = pytest.mark.usefixtures("controller")


def test_a_new_upgrade_waits_for_a_host_in_maintenance_and_an_open_one_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its group would miss it and those of a batch. The upgrade and the host may wait for each other."""
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    maintenance.directory(SITE).mkdir(parents=True)
    maintenance.keep(SITE, "worker-1", maintenance.Maintenance(begun="now", boot="a:1", cordoned=True))
    with pytest.raises(GroundupError, match=r"worker-1 in maintenance: groundup\.cloud\.patch goes on with it first"):
        asked().check()
    step().begin()
    assert asked().check()["open"]
