"""`--check --diff` on a machine without the lab: it tells what would be made, and makes nothing."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.machine import NOTHING, settings, traces

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.lab


def test_a_prediction_on_a_fresh_machine_makes_nothing(plan: Plan, state: Path, tmp_path: Path) -> None:
    subprocess.run([ROOT / "ci/lab", "destroy"], cwd=ROOT, check=True, timeout=900)
    network, own, figures = plan.networks["management"].cidr, settings(), tmp_path / "figures.json"

    subprocess.run(
        [ROOT / "ci/lab", "predict"], cwd=ROOT, check=True, timeout=1800,
        env=os.environ | {"GROUNDUP_TIMELINE": str(figures)},
    )  # fmt: skip

    assert traces(plan.site, network) == NOTHING
    assert not state.exists()
    assert settings() == own
    plays = json.loads(figures.read_text())["plays"]
    assert {play["name"] for play in plays if play["changed"]} >= {"Metal", "OpenStack"}
