"""Who waits to join, which control host is asked, and how long certificates last, as the role reads it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.filter.kubernetes_certificates import kubernetes_certificates
from ansible_collections.groundup.cloud.plugins.filter.kubernetes_members import kubernetes_members

CONTROL = ["control-1", "control-2", "control-3"]
NODES = [*CONTROL, "worker-1", "worker-2"]
MEMBER, WAITS = {"joins": False, "membership": "member"}, {"joins": True, "membership": "blank"}
HALF_MADE = {"joins": True, "membership": "partial"}
SILENT: dict[str, Any] = {}


def members(said: dict[str, dict[str, Any]], *, answers: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """Return the filter's answer to a run on the hosts of ``said``; one that is silent was not asked, or failed."""
    variables = {host: {"kubernetes_node": node} if node else {} for host, node in said.items()}
    return kubernetes_members(variables, [*said], nodes=NODES, control=CONTROL, first="control-1", answers=answers)


def test_nobody_waits_in_an_unchanged_run() -> None:
    found = members(dict.fromkeys(NODES, MEMBER))
    assert (found["waiting"], found["half_made"]) == ([], [])
    assert (found["present"], found["contact"]) == (CONTROL, "control-1")


def test_control_hosts_with_an_older_etcd_restart_first_and_who_waits_to_join_does_not() -> None:
    said = {
        "control-1": {**MEMBER, "due": ["kube-apiserver"]},
        "control-2": {**MEMBER, "due": ["etcd", "kube-apiserver"]},
        "control-3": {**WAITS, "due": ["etcd"]},
        "worker-1": MEMBER,
    }
    assert members(said)["due"] == ["control-2", "control-1"]


@pytest.mark.parametrize("leader", CONTROL)
def test_the_leader_of_etcd_restarts_last(leader: str) -> None:
    """Its leadership moves once, to a host that has restarted, instead of from host to host."""
    said = {host: {**MEMBER, "due": ["etcd"], "leads": host == leader} for host in CONTROL}
    assert members(said)["due"][-1] == leader


def test_a_new_worker_waits_and_the_first_control_host_speaks() -> None:
    found = members({**dict.fromkeys(NODES, MEMBER), "worker-2": WAITS})
    assert (found["waiting"], found["half_made"], found["contact"]) == (["worker-2"], [], "control-1")


def test_a_control_host_that_waits_does_not_speak() -> None:
    found = members({"control-1": WAITS, "control-2": MEMBER, "worker-1": MEMBER})
    assert found["waiting"] == ["control-1"]
    assert (found["present"], found["contact"]) == (["control-2"], "control-2")


def test_a_host_whose_join_was_interrupted_is_half_made_and_waits() -> None:
    found = members({**dict.fromkeys(NODES, MEMBER), "control-3": HALF_MADE, "worker-1": WAITS})
    assert found["waiting"] == ["control-3", "worker-1"]
    assert found["half_made"] == ["control-3"]


def test_a_host_that_said_nothing_or_failed_does_not_wait() -> None:
    assert members({"control-1": MEMBER, "worker-1": SILENT, "worker-2": {"failed": True}})["waiting"] == []


def test_a_host_that_is_no_node_does_not_wait() -> None:
    assert members({"control-1": MEMBER, "storage-1": WAITS})["waiting"] == []


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        (({"item": "control-1", "failed": True}, {"item": "control-2", "state": "started"}), "control-2"),
        (({"item": "control-1", "failed": True},), "control-1"),
        ((), "control-1"),
    ],
)
def test_without_a_control_host_in_the_run_one_that_answers_speaks_or_the_first(
    answers: tuple[dict[str, Any], ...], asked: str
) -> None:
    found = members({"worker-2": WAITS}, answers=answers)
    assert (found["waiting"], found["present"], found["contact"]) == (["worker-2"], [], asked)


def test_a_control_host_of_the_run_speaks_before_one_that_answered() -> None:
    found = members({"control-3": MEMBER, "worker-2": WAITS}, answers=({"item": "control-2", "state": "started"},))
    assert found["contact"] == "control-3"


def test_certificates_are_those_that_control_hosts_told() -> None:
    told: list[dict[str, Any]] = [
        {"item": "control-1", "certificates": {"apiserver.crt": 300}},
        {"item": "control-2", "unreachable": True},
    ]
    variables = {"control-1": {"kubernetes_node": {"due": [], "certificates": {"apiserver.crt": 1}}}}
    assert kubernetes_certificates(variables, CONTROL, told=told) == {"control-1": {"apiserver.crt": 300}}
    assert kubernetes_certificates({}, CONTROL, told=told[1:]) == {}


def test_after_an_apply_certificates_are_those_of_its_results_without_renewed_ones() -> None:
    variables: dict[str, dict[str, Any]] = {
        "control-1": {"kubernetes_node": {"due": [], "certificates": {"apiserver.crt": 300}}},
        "control-2": {"kubernetes_node": {"due": ["apiserver.crt"], "certificates": {"apiserver.crt": 3}}},
        "control-3": {},
    }
    assert kubernetes_certificates(variables, CONTROL, told=[]) == {"control-1": {"apiserver.crt": 300}}


PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.set_fact: {kubernetes_node: "{{ node }}"}
      when: node is defined
    - ansible.builtin.include_vars: {file: "{{ vars_file }}"}
      run_once: true
    - ansible.builtin.copy:
        content: "{{ [kubernetes_members, kubernetes_certificates] | to_json }}"
        dest: "{{ out }}"
        mode: "0600"
      run_once: true
      vars:
        kubernetes_site: {kubernetes: {first_control: control-1}}
        kubernetes_told: {results: []}
"""


def test_the_role_gives_the_filters_what_hosts_said(tmp_path: Path) -> None:
    nodes = {
        "control-1": {**MEMBER, "due": [], "certificates": {"ca.crt": 9}},
        "control-2": {**HALF_MADE, "due": ["ca.crt"], "certificates": {}},
    }
    hosts = {host: {"node": nodes[host]} if host in nodes else {} for host in ("worker-1", "control-1", "control-2")}
    groups = {"kubernetes": {"hosts": hosts}, "control": {"hosts": dict.fromkeys(nodes)}}
    (tmp_path / "hosts.yml").write_text(
        json.dumps({"all": {"vars": {"ansible_connection": "local"}, "children": groups}})
    )
    (tmp_path / "play.yml").write_text(PLAY)
    role = Path(__file__).resolve().parents[3] / "roles/kubernetes/vars/main.yml"
    argv: list[str | Path] = ["ansible-playbook", "-i", tmp_path / "hosts.yml", tmp_path / "play.yml"]
    argv += ["-e", f"out={tmp_path / 'out'} vars_file={role}"]
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found, days = json.loads((tmp_path / "out").read_text())
    assert found == {
        "waiting": ["control-2"], "half_made": ["control-2"], "present": ["control-1"], "due": [],
        "contact": "control-1",
    }  # fmt: skip
    assert days == {"control-1": {"ca.crt": 9}}
