"""The playbook groundup.cloud.hypervisor_failure evacuates what two looks agree on, with `stay`; its exit codes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.tests.integration import abroad
from ansible_collections.groundup.cloud.tests.integration.commands import ROOT, run

# Stands for the look, which asks a cloud: what it finds the first time, and the second.
_LOOK = """
from ansible.plugins.action import ActionBase

class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        args = self._task.args
        if args["step"] == "judge":
            return {"msg": args["found"]["summary"], "failed": args["found"]["state"] != "clean"}
        if args["step"] == "start":
            said = [task_vars["hostvars"][name][args["result"]].get("stdout") for name in ("here", "gone")]
            return {"msg": f"starts {said}", "failed": task_vars["second"] == "broken"}
        again = args.get("result") == "failure_again"
        said = {name: task_vars["hostvars"][name].get(args.get("result", "failure_said")) for name in ("here", "gone")}
        assert said["here"]["ping"] == "pong" and said["gone"]["unreachable"], said
        name = task_vars["second" if again else "first"]
        if name == "unknown":
            return {"msg": "Nova does not answer", "unreachable": True}
        state = "failed" if task_vars["first"] else "clean"
        return {"evacuate": name, "metrics": "", "failure": {"state": state, "summary": "so it is"}}
"""
_EVACUATE = """
- hosts: localhost
  gather_facts: false
  tasks:
    - ansible.builtin.debug:
        msg: "evacuates {{ groundup_machine }} accepting {{ evacuate_force | join(',') }} dry={{ ansible_check_mode }}"
      tags: [check, apply]
"""
GONE = {"ansible_host": "127.94.0.11", "ansible_port": 9, "ansible_ssh_common_args": "-o BatchMode=yes"}
SITE = {"site": "s", "access": {"user": "root"}, "monitoring": None}


def play(home: Path, *arguments: str, first: str, second: str = "", site: Any = SITE, **environment: Any) -> Any:
    text = (ROOT / "playbooks/hypervisor_failure.yml").read_text()
    text = text.replace("groundup.cloud.failure:", "look:").replace("groundup.cloud.evacuate", "evacuate.yml")
    (home / "play.yml").write_text(text)
    (home / "evacuate.yml").write_text(_EVACUATE)
    (home / "action_plugins").mkdir(exist_ok=True)
    (home / "action_plugins/look.py").write_text(_LOOK)
    dry = "{{ ansible_check_mode or 'check' in ansible_run_tags }}"
    known = {
        "groundup_site": site, "groundup_site_file": "s", "groundup_storage_host": "localhost", "first": first,
        "second": second, "groundup_dry_run": dry, "groundup_machine": "of the inventory", "failure_pause": 1,
    }  # fmt: skip
    hosts = {"here": {"ansible_connection": "local"}, "gone": GONE}
    inventory = {"all": {"hosts": hosts, "vars": known, "children": {"refused": {}, "compute": {"hosts": hosts}}}}
    (home / "hosts.yml").write_text(yaml.safe_dump(inventory))
    return run("ansible-playbook", "-i", home / "hosts.yml", home / "play.yml", *arguments,
               GROUNDUP_STATE=home / "state", **environment)  # fmt: skip


@pytest.mark.parametrize(
    ("looks", "arguments", "code", "evacuates"),
    [
        ("h-1 h-1", (), 2, "evacuates h-1 accepting stay dry=False"),
        ("h-1 h-1", ("--check",), 2, "evacuates h-1 accepting stay dry=True"),
        ("h-1 ", (), 2, ""),
        ("h-1 h-2", (), 2, ""),
        ("h-1 unknown", (), 4, ""),
        ("unknown h-1", (), 4, ""),
        (" h-1", (), 0, ""),
    ],
)
def test_two_looks_agree_before_anything_is_done(
    tmp_path: Path, looks: str, arguments: tuple[str, ...], code: int, evacuates: str
) -> None:
    first, second = looks.split(" ")
    done = play(tmp_path, *arguments, first=first, second=second)
    assert done.returncode == code, done.stdout + done.stderr
    assert ("evacuates h" in done.stdout, evacuates in done.stdout) == (bool(evacuates), True), done.stdout


@pytest.mark.parametrize(("second", "code"), [("", 0), ("broken", 2)])
def test_libvirt_is_asked_for_guests_that_died_where_the_site_says_so(tmp_path: Path, second: str, code: int) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/virsh").write_text('#!/bin/sh\necho "$*"\n')
    (tmp_path / "bin/virsh").chmod(0o755)
    site = SITE | {"openstack": {"hypervisor_failure": {"instances": "start"}}}
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    done = play(tmp_path, "-v", first="", second=second, site=site, PATH=path)
    assert done.returncode == code, done.stdout + done.stderr
    assert "starts ['--connect qemu:///system domstats --state --list-shutoff', None]" in done.stdout, done.stdout


def test_a_cloud_that_cannot_be_asked_is_unknown_and_a_part_of_the_site_is_no_look(tmp_path: Path) -> None:
    (tmp_path / "site.yml").write_text(abroad.SITE)
    for arguments, said in (((), "the site has no ca.crt"), (("--limit", "node-1"), "run it without --limit")):
        done = run("ansible-playbook", "-i", tmp_path / "site.yml", "groundup.cloud.hypervisor_failure", *arguments,
                   GROUNDUP_STATE=tmp_path / "state")  # fmt: skip
        assert done.returncode == 4, done.stdout + done.stderr
        assert said in done.stdout + done.stderr
