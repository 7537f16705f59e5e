"""What control hosts said of OVN's databases, as a role reads it: through Ansible, with hosts that said nothing."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

PLAY = """
- hosts: all
  gather_facts: false
  vars:
    said:
      one: {waits: [], databases: {nb: a, sb: b}}
      two: {waits: [nb], databases: {nb: null, sb: b}}
      three: {waits: [nb, sb], databases: {nb: null, sb: null}}
    states: {one: {northd: active}, two: {northd: standby}}
  tasks:
    - ansible.builtin.set_fact: {ovn_central_said: "{{ said[inventory_hostname] }}"}
      when: inventory_hostname in said
    - ansible.builtin.set_fact: {ovn_central_state: "{{ states[inventory_hostname] }}"}
      when: inventory_hostname in states
    - ansible.builtin.copy:
        content: "{{ hostvars | groundup.cloud.ovn_members(ansible_play_hosts) | to_json }}"
        dest: "{{ out }}"
        mode: "0600"
      run_once: true
"""
HOSTS = {name: {"ansible_connection": "local", "groundup_host": {"address": f"10.0.0.{number}"}}
         for number, name in enumerate(("one", "two", "three", "silent"), 1)}  # fmt: skip


def test_who_waits_what_is_lost_and_where_northd_is_active(tmp_path: Path) -> None:
    (tmp_path / "play.yml").write_text(PLAY)
    (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": HOSTS}}))
    (tmp_path / "hosts.yml").write_text((tmp_path / "hosts.json").read_text())
    argv: list[str | Path] = ["ansible-playbook", "-i", tmp_path / "hosts.yml", tmp_path / "play.yml"]
    argv += ["-e", f"out={tmp_path / 'out'}"]
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "out").read_text())
    assert list(found["answers"]) == ["one", "two", "three"], "a host that did not answer has none"
    assert found["waiting"] == ["two", "three"]
    assert found["lost"] == {"nb": ["10.0.0.2", "10.0.0.3"], "sb": ["10.0.0.3"]}
    assert found["active"] == ["one"]
