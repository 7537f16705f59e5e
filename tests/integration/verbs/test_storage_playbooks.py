"""Playbooks of verbs on a storage host, with every host on this machine and a module `ceph` that keeps a file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION

CEPH = '''#!/usr/bin/python
from __future__ import annotations

import json
import os
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = """{documentation}"""


def main() -> None:
    module = AnsibleModule({"step": {"type": "str"}, "given": {"type": "dict"}}, supports_check_mode=True)
    step, given, file = module.params["step"], module.params["given"], Path(os.environ["CEPH"])
    state, name = json.loads(file.read_text()), given["name"]
    found, dry = state["osds"].get(name), module.check_mode
    assert given["keys"]["ceph/client.admin"]
    if step == "member":
        osds = [{"number": 7, "weight": found, "groups": 0}] if found is not None else []
        module.exit_json(member={"osds": osds, "monitor": False, "place": False, "drained": found == 0})
    if step == "erase" and found is not None:
        module.fail_json(msg=f"the cluster has osd.7 on {name}\\n  where:  a\\n  why:    b\\n  remedy: c; d")
    line = f"{step} {name} {'dry' if dry else 'real'} here={given['here']} {given['force']}"
    state["calls"].append(line)
    if not dry:
        state["osds"][name] = {"drain": 0, "undrain": 1}.get(step)
        state["osds"] = {one: weight for one, weight in state["osds"].items() if weight is not None}
    file.write_text(json.dumps(state))
    module.exit_json(changes=[line])


if __name__ == "__main__":
    main()
'''


class Copy:
    """A copy of the collection with that module, and its site."""

    def __init__(self, directory: Path) -> None:
        self.root, self.ceph = directory / "ansible_collections/groundup/cloud", directory / "ceph.json"
        for name in ("plugins", "playbooks", "roles", "inventories/cloud", "meta"):
            shutil.copytree(COLLECTION / name, self.root / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(COLLECTION / "galaxy.yml", self.root)
        module = self.root / "plugins/modules/ceph.py"
        documentation = module.read_text().partition('DOCUMENTATION = r"""')[2].partition('"""')[0]
        module.write_text(CEPH.replace("{documentation}", documentation))
        (directory / "password").write_text("of this test")
        self.environment = {
            **os.environ, "PYTHONPATH": str(directory), "ANSIBLE_COLLECTIONS_PATH": str(directory),
            "GROUNDUP_STATE": str(directory / "state"), "CEPH": str(self.ceph),
            "ANSIBLE_VAULT_PASSWORD_FILE": str(directory / "password"),
        }  # fmt: skip
        self.play("secrets", code=0)

    def play(self, verb: str, *words: str, code: int = 0) -> str:
        """Run a playbook; return what it says."""
        argv = ["ansible-playbook", "-i", "inventories/cloud/site.yml", f"groundup.cloud.{verb}"]
        local = ("-e", "ansible_connection=local", "-e", f"ansible_python_interpreter={sys.executable}")
        done = subprocess.run(
            [*argv, *local, *words], cwd=self.root, check=False, capture_output=True, text=True, env=self.environment
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def state(self) -> Any:
        """Return what Ceph has, and what it was told since the last question."""
        found = json.loads(self.ceph.read_text())
        self.ceph.write_text(json.dumps({**found, "calls": []}))
        return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(tmp_path_factory.mktemp("copy"))


@pytest.fixture
def site(made: Copy) -> Copy:
    made.ceph.write_text(json.dumps({"osds": {"storage-1": 1, "storage-2": 1}, "calls": []}))
    return made


def test_a_storage_host_is_drained_and_taken_back(site: Copy) -> None:
    name = ("-e", "machine=storage-2")
    assert "drain storage-2 dry" in site.play("drain", *name, "--check")
    assert site.state()["osds"]["storage-2"] == 1
    said = site.play("drain", *name)
    assert "localhost -> storage-2" not in said, "another one is asked"
    assert "groundup.cloud.retire -e machine=storage-2" in " ".join(said.split())
    assert site.state()["calls"] == [f"drain storage-2 {how} here=False []" for how in ("dry", "real")]
    assert "osd.7 has weight 1" in site.play("drain", "-e", "machine=storage-1", "--tags", "verify", code=2)
    site.play("undrain", *name)
    assert site.state()["osds"]["storage-2"] == 1


@pytest.mark.parametrize("check", [True, False])
def test_an_old_name_still_works_and_says_once_that_it_ends(site: Copy, *, check: bool) -> None:
    said = " ".join(
        site.play("storage_drain", "-e", "drain_machine=storage-1", *(["--check"] if check else [])).split()
    )
    assert said.count("drain_machine ends with the next release; use machine") == 1
    assert said.count("storage_drain ends with the next release; use drain") == 1
    assert "localhost -> storage-1" not in said, "another one is asked"
    assert site.state()["osds"]["storage-1"] == (1 if check else 0)
    assert "ends with" not in site.play("drain", "-e", "machine=storage-1")
    assert "no machine is named" in site.play("drain", "-e", "retire_machine=storage-1", code=2), "another verb's"


def test_a_step_that_failed_is_not_followed_by_the_next(site: Copy) -> None:
    steps = """
- hosts: localhost
  gather_facts: false
  tasks:
    - name: Do it
      ansible.builtin.command: "{{ item }}"
      register: verb_done
      loop: ["true", "false", "touch never"]
      loop_control: {control}
"""
    played = yaml.safe_load((COLLECTION / "playbooks/verb.yml").read_text())[1]["tasks"]
    (task,) = [one for one in played if one["name"] == "Do it"]
    assert task["register"] == "verb_done"
    (site.root / "steps.yml").write_text(steps.replace("{control}", json.dumps(task["loop_control"])))
    done = subprocess.run(
        ["ansible-playbook", "-i", "localhost,", "-c", "local", "steps.yml"], cwd=site.root, check=False,
        capture_output=True, text=True, env=site.environment,
    )  # fmt: skip
    assert done.returncode == 2, done.stdout + done.stderr
    assert not (site.root / "never").exists()


def test_a_storage_host_is_retired_on_itself_after_ceph_was_asked(site: Copy) -> None:
    options = ("-e", '{"machine": "storage-2", "retire_force": ["lost"]}')
    site.play("retire", *options, "--check")
    assert site.state()["calls"] == ["retire storage-2 dry here=True ['lost']"]
    said = site.play("retire", *options)
    assert "storage-2 has left Ceph" in said
    assert site.state() == {
        "osds": {"storage-1": 1}, "calls": [f"retire storage-2 {how} here=True ['lost']" for how in ("dry", "real")],
    }  # fmt: skip


def test_an_error_of_the_storage_host_is_said_as_it_is(site: Copy) -> None:
    said = site.play("erase", "-e", "machine=gone-1", code=2)
    assert "the cluster does not say whether it uses gone-1" in said
    site.ceph.write_text(json.dumps({"osds": {"gone-1": 1}, "calls": []}))
    said = site.play("erase", "-e", "machine=gone-1", code=2)
    assert "the cluster has osd.7 on gone-1\n  where:  a\n  why:    b\n  remedy: c; d" in said
    accepted = '{"machine": "gone-1", "erase_force": ["osds"]}'
    assert "the cluster does not say whether it uses gone-1" in site.play("erase", "-e", accepted, code=2)
