"""Layers run unattended by real playbooks: one that ends well, one that fails, and none while something is unknown."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.groundup.cloud.tests.integration import abroad
from ansible_collections.groundup.cloud.tests.integration.commands import run

from .test_drift_playbook import drift

_PLAY = """\
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - groundup.cloud.drift:
        step: heal
        site_file: "{{ groundup_site_file }}"
        found: "{{ lookup('file', found) | from_json }}"
      register: healed
    - ansible.builtin.copy:
        content: "{{ healed | to_json }}"
        dest: "{{ said }}"
        mode: "0600"
"""


def site(home: Path) -> str:
    """Return the site file of a silent host that heals now."""
    now = datetime.now(UTC)
    window = f"{now - timedelta(hours=1):%H:%M}-{now + timedelta(hours=3):%H:%M}"
    heal = {"layers": ["hypervisor", "monitoring"], "window": window}
    monitoring = {"enabled": True, "host": "node-1", "drift": "daily", "heal": heal}
    (home / "password").write_text("word of a test\n")
    return abroad.SITE + yaml.safe_dump({"monitoring": monitoring})


def healed(home: Path, *layers: str) -> tuple[dict[str, Any], str]:
    """Return what a run that found a difference of each of ``layers`` made of it, and what it printed."""
    row = {"host": "localhost", "what": "it differs"}
    rows = [{**row, "layer": layer, "remedy": f"run the playbook groundup.cloud.{layer}"} for layer in layers]
    (home / "found.json").write_text(json.dumps({"time": datetime.now(UTC).isoformat(), "rows": rows}))
    (home / "play.yml").write_text(_PLAY)
    done = run(
        "ansible-playbook", "-i", home / "site.yml", home / "play.yml",
        "-e", f"found={home}/found.json", "-e", f"said={home}/said.json",
        GROUNDUP_STATE=home / "state", GROUNDUP_VAULT_PASSWORD_FILE=home / "password",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((home / "said.json").read_text()), done.stdout


def test_what_is_unknown_lets_nothing_run_and_the_record_keeps_what_ran_from_running_again(tmp_path: Path) -> None:
    done = drift(tmp_path, "-e", "drift_heal=true", site=site(tmp_path))
    assert done.returncode == 2, done.stdout + done.stderr
    assert "healed by itself: nothing: not all could be asked: host node-1" in done.stdout
    record = tmp_path / "state/abroad/heal.json"
    assert json.loads(record.read_text()) == {}

    _, said = healed(tmp_path, "hypervisor", "monitoring")
    assert "healed by itself: nothing: the site was never found as this file" in said
    _, said = healed(tmp_path)
    assert "healed by itself: nothing: nothing differs" in said

    found, said = healed(tmp_path, "hypervisor", "monitoring")
    assert found["changed"], said
    assert "healed by itself: hypervisor: nothing differs any more" in said, "the site has none: it ends well"
    assert "healed by itself: monitoring: " in said
    for layer, failed in (("hypervisor", 0), ("monitoring", 1)):
        assert f'groundup_heal_failed{{part="{layer}"}} {failed}\n' in found["metrics"]

    found, said = healed(tmp_path, "monitoring")
    assert not found["changed"]
    assert "healed by itself: nothing: monitoring ran in this window already, for the same" in said
    assert 'groundup_heal_repeated{part="monitoring"} 1\n' in found["metrics"]
