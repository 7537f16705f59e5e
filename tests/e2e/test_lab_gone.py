"""Destroying a whole lab, with its cluster and its cloud, leaves the machine as it was. Runs last: the lab is gone."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.machine import (
    NETNS_MOUNT,
    NOTHING,
    RUN,
    SETTINGS,
    alone,
    settings,
    traces,
)

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.lab, pytest.mark.skipif(os.geteuid() != 0, reason="making hosts needs root")]


def test_a_destroyed_cloud_leaves_nothing_behind(plan: Plan, state: Path) -> None:
    network = plan.networks["management"].cidr
    assert traces(plan.site, network).processes, "there is no lab that could leave something behind"
    before = json.loads((RUN / "machine.json").read_text())

    subprocess.run([ROOT / "ci/lab", "destroy"], cwd=ROOT, check=True, timeout=900)

    assert traces(plan.site, network) == NOTHING
    assert not state.exists()
    if alone():  # with another lab running, the machine's settings are put back when that one goes
        own = {name: before["settings"][name] for name in SETTINGS}
        assert settings() == own | {NETNS_MOUNT: str(before["namespaces"])}
