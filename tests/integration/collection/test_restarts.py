"""Storage hosts restart daemons one after the other, and none after the first whose daemons do not come back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from ansible_collections.groundup.cloud.tests.integration.commands import ROOT, run

ROLE = ROOT / "roles/storage"


@pytest.mark.parametrize(("code", "restarted"), [(0, ["b", "c"]), (1, ["b"])])
@pytest.mark.parametrize(
    ("file", "said", "variable"),
    [("change", "storage_said", "storage_due"), ("gateways", "storage_gateway_said", "storage_gateways_due")],
)
def test_a_configuration_that_nothing_starts_with_takes_the_first_host_alone(
    tmp_path: Path, *, file: str, said: str, variable: str, code: int, restarted: list[str]
) -> None:
    log = tmp_path / "log"
    tasks = [one for one in yaml.safe_load((ROLE / f"tasks/{file}.yml").read_text()) if "Restart" in one["name"]]
    kept = ("name", "when", "throttle")  # with a command in the place of the module
    command = f"sh -c 'echo {{{{ inventory_hostname }}}} >> {log}; exit {code}'"
    fact = {said: "{{ {'due': ['x'] if inventory_hostname != 'd' else []} if inventory_hostname != 'a' else {} }}"}
    play = {
        "hosts": "all", "gather_facts": False, "any_errors_fatal": True,
        "vars": {variable: yaml.safe_load((ROLE / "vars/main.yml").read_text())[variable]},
        "tasks": [
            {"ansible.builtin.set_fact": fact},
            *({key: one[key] for key in kept if key in one} | {"ansible.builtin.command": command} for one in tasks),
        ],
    }  # fmt: skip
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    ended = run("ansible-playbook", "-i", "a,b,c,d,", "-c", "local", tmp_path / "play.yml")
    assert log.exists(), ended.stdout + ended.stderr
    assert log.read_text().split() == restarted
