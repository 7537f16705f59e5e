"""Gateways take up a new configuration one after the other, and none after the first that does not come back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from ansible_collections.groundup.cloud.tests.integration.commands import ROOT, run

ROLE = ROOT / "roles/storage"


@pytest.mark.parametrize(("code", "restarted"), [(0, ["b", "c"]), (1, ["b"])])
def test_a_configuration_that_no_gateway_starts_with_takes_the_first_alone(
    tmp_path: Path, code: int, restarted: list[str]
) -> None:
    log = tmp_path / "log"
    tasks = yaml.safe_load((ROLE / "tasks/gateways.yml").read_text())
    for task in tasks:
        del task["groundup.cloud.ceph_gateway"], task["tags"]
        task["ansible.builtin.command"] = f"sh -c 'echo {{{{ inventory_hostname }}}} >> {log}; exit {code}'"
    due = yaml.safe_load((ROLE / "vars/main.yml").read_text())["storage_gateways_due"]
    said = {"storage_gateway_said": "{{ {'due': inventory_hostname != 'd'} if inventory_hostname != 'a' else {} }}"}
    fact = {"ansible.builtin.set_fact": said}
    play = {
        "hosts": "all", "gather_facts": False, "any_errors_fatal": True, "vars": {"storage_gateways_due": due},
        "tasks": [fact, *tasks],
    }  # fmt: skip
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    ended = run("ansible-playbook", "-i", "a,b,c,d,", "-c", "local", tmp_path / "play.yml")
    assert log.exists(), ended.stdout + ended.stderr
    assert log.read_text().split() == restarted
