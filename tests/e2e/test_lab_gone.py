"""Destroying a whole lab, with its cluster and its cloud, leaves the machine as it was. Runs last: the lab is gone."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.machine import NOTHING, RUN, SETTINGS, alone, settings, traces

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.lab, pytest.mark.skipif(os.geteuid() != 0, reason="making hosts needs root")]


def test_a_destroyed_cloud_leaves_nothing_behind(plan: Plan, state: Path) -> None:
    network = plan.networks["management"].cidr
    assert traces(plan.site, network).processes, "there is no lab that could leave something behind"
    recorded = json.loads((RUN / "machine.json").read_text())["settings"]

    subprocess.run([ROOT / "ci/lab", "destroy"], cwd=ROOT, check=True, timeout=300)

    assert traces(plan.site, network) == NOTHING
    assert not state.exists()
    if alone():  # with another lab running, the machine's settings are put back when that one goes
        assert {name: value.strip() for name, value in settings().items()} == {
            name: recorded[name] for name in SETTINGS
        }
