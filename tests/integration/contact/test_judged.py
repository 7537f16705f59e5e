"""What preflight found decides over the run: a worker that serves is set aside, all else stops it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.tests.integration.commands import run

PLAYBOOK = Path(__file__).resolve().parents[3] / "playbooks/contact.yml"
FAULT = {"check": "swap", "severity": "error", "what": "swap is on", "where": "/dev/sda2", "remedy": "turn it off"}
NAMES = ("control-1", "worker-1", "worker-2")


def judged(directory: Path, *arguments: str, wrong: str, new: str = "") -> tuple[int, str]:
    """Judge three hosts, of which ``wrong`` have a fault and ``new`` do not serve yet; a later layer says its hosts."""
    hosts: dict[str, Any] = {}
    for number, name in enumerate(NAMES):
        facts = {"serves": name not in new.split(), "machine_id": str(number), "hostname": "", "macs": []}
        found = {"faults": [FAULT] * (name in wrong.split()), "facts": facts, "contact": {"placed": True}}
        hosts[name] = {"contact_host": found, "groundup_host": {"group": name.partition("-")[0]}}
    inventory = {
        "all": {
            "hosts": hosts,
            "children": {"absent": {}, "provisioner_existing": {"hosts": dict.fromkeys(hosts)}},
            "vars": {
                "ansible_connection": "local",
                "groundup_dry_run": "{{ ansible_check_mode }}",
                "groundup_site": {"site": "judged", "max_unavailable": {"control": 0, "worker": 1}, "enough": {}},
            },
        }
    }
    (contact,) = (play for play in yaml.safe_load(PLAYBOOK.read_text()) if play["name"] == "First contact")
    contact["tasks"] = contact["tasks"][2:]  # the hosts are examined
    later = {"name": "later", "hosts": "all:!absent", "gather_facts": False}
    later["tasks"] = [{"ansible.builtin.debug": {"msg": "later layer"}}]
    (directory / "hosts.yml").write_text(json.dumps(inventory))
    (directory / "play.yml").write_text(json.dumps([contact, {"import_playbook": "groundup.cloud.set_aside"}, later]))
    done = run("ansible-playbook", "-i", directory / "hosts.yml", directory / "play.yml", *arguments, cwd=directory)
    return done.returncode, done.stdout + done.stderr


def later(said: str) -> int:
    """Return on how many hosts the later layer ran."""
    return said.count("later layer")


def test_a_run_goes_on_without_a_worker_that_serves(tmp_path: Path) -> None:
    code, said = judged(tmp_path, wrong="worker-2")
    assert (code, later(said)) == (4, 2), said
    assert "The run went to its end without: worker-2" in said
    assert "remedy: turn it off" in said.partition("PLAY RECAP")[2]
    code, said = judged(tmp_path, "--check", wrong="worker-2")
    assert (code, later(said)) == (4, 2), said  # a prediction ends as the run would


@pytest.mark.parametrize("check", [(), ("--check",)], ids=["apply", "check"])
def test_so_it_does_with_limit_where_no_localhost_is_left(tmp_path: Path, check: tuple[str, ...]) -> None:
    code, said = judged(tmp_path, "--limit", "worker-1,worker-2", *check, wrong="worker-1")
    assert (code, later(said)) == (4, 1), said
    assert "The run went to its end without: worker-1" in said


@pytest.mark.parametrize(
    ("wrong", "new"),
    [("worker-2", "worker-2"), ("control-1", ""), ("worker-1 worker-2", ""), ("worker-1 worker-2", "worker-2")],
    ids=["a new worker", "a control host", "too many workers", "a new one beside one that serves"],
)
def test_what_the_site_cannot_spare_stops_the_run(tmp_path: Path, wrong: str, new: str) -> None:
    code, said = judged(tmp_path, wrong=wrong, new=new)
    assert (code, later(said)) == (2, 0), said
