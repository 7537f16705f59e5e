"""An upgrade beside a host that a run of patch left in maintenance."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError

from .running import asked, step

pytestmark = pytest.mark.usefixtures("controller")


def test_a_new_upgrade_waits_for_a_host_in_maintenance_and_an_open_one_goes_on() -> None:
    """Its group would miss it and those of a batch. The upgrade and the host may wait for each other."""
    with pytest.raises(GroundupError, match=r"worker-1 in maintenance: groundup\.cloud\.patch goes on with it first"):
        asked(resting=["worker-1"]).check()
    step().begin()
    assert asked(resting=["worker-1"]).check()["open"]
