"""The playbook groundup.cloud.machines: a table for people, a document for programs, and no host is asked."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import MachineCard, WayStep
from ansible_collections.groundup.cloud.tests.integration.commands import ROOT, run

CARD = MachineCard(what="it has no disk that fits", why="there is nothing to write to", remedy="see its disks")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    Journal(tmp_path / "lab-metal/metal/worker-1.jsonl").note(WayStep(state="failed", verb="fail", card=CARD))
    return tmp_path


def machines(state: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    site = ROOT / "inventories/lab-metal/site.yml"
    done = run("ansible-playbook", "-i", site, "groundup.cloud.machines", *arguments, GROUNDUP_STATE=state)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "changed=0" in done.stdout
    return done


def test_the_table_shows_every_machine_and_the_card_of_a_failed_one(state: Path) -> None:
    shown = machines(state, "-e", "machines_follow=true").stdout
    lines = [line.split() for line in shown.splitlines()]
    assert ["seed-1", "r1", "-", "-", "-", "not", "installed", "by", "the", "seed"] in lines
    assert "remedy: see its disks" in shown


def test_the_document_is_cut_out_of_the_output_as_the_page_says(state: Path) -> None:
    lines = machines(state, "-e", "machines_output=json", "--check").stdout.splitlines()
    found = json.loads("\n".join(lines[lines.index("{") : lines.index("}") + 1]))
    assert {machine["machine"]: machine["state"] for machine in found["machines"]}["worker-1"] == "failed"
