"""Hypervisors of a step, by Ansible itself, with stand-ins of both modules: where it stops, and what it asks there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from ansible_collections.groundup.cloud.tests.integration.commands import ROOT, run

HOSTS = ("h1", "h2", "h3")
HYPERVISOR = """\
from ansible.module_utils.basic import AnsibleModule
kinds = {"site": "str", "name": "str", "step": "str", "release_step": "bool", "fails": "list"}
module = AnsibleModule(argument_spec={name: {"type": kind} for name, kind in kinds.items()})
given = module.params
open("LOG", "a").write("%s %s\\n" % (given["step"], given["name"]))
if given["step"] == "look":
    module.exit_json(changed=False, units={"nova-compute": "failed: words of " + given["name"]})
if given["name"] in given["fails"]:
    module.fail_json(msg="it does not start")
module.exit_json(changed=True)
"""
STEP = """\
import json
from ansible.module_utils.basic import AnsibleModule
kinds = {"site_file": "str", "step": "str", "hosts": "list", "lacking": "dict", "said": "dict"}
module = AnsibleModule(argument_spec={name: {"type": kind} for name, kind in kinds.items()})
given = module.params
told = json.dumps([given["lacking"], given["said"]]) if given["step"] == "lost" else ",".join(given["hosts"])
open("LOG", "a").write("%s %s\\n" % (given["step"], told))
if given["step"] == "lost":
    module.fail_json(msg="stopped")
silent = {host: "silent" for host in given["hosts"] if host in "LATE".split()}
module.exit_json(changed=False, lacking=given["lacking"] or silent)
"""


def go(directory: Path, *, fails: str = "", late: str = "") -> tuple[int, list[str]]:
    """Run the role's tasks; return the exit code, and what was done."""
    log, library = directory / "log", directory / "library"
    library.mkdir()
    for name, text in (("fake_hypervisor", HYPERVISOR), ("fake_step", STEP)):
        (library / f"{name}.py").write_text(text.replace("LOG", str(log)).replace("LATE", late))
    for name in ("release", "release_batch"):
        text = (ROOT / f"roles/hypervisor/tasks/{name}.yml").read_text()
        text = text.replace("groundup.cloud.hypervisor:", "fake_hypervisor:")
        (directory / f"{name}.yml").write_text(text.replace("groundup.cloud.openstack_upgrade:", "fake_step:"))
    (play,) = (
        one
        for one in yaml.safe_load((ROOT / "playbooks/openstack_upgrade.yml").read_text())
        if one["name"] == "Hypervisors"
    )
    play |= {
        "hosts": "all",
        "vars": {
            "groundup_site": {"site": "lab"}, "groundup_site_file": "site.yml",
            "groundup_host": {"name": "{{ inventory_hostname }}"}, "hypervisor_batches": [["h1", "h2"], ["h3"]],
            "hypervisor_node_options": {"site": "lab", "name": "{{ inventory_hostname }}", "fails": fails.split()},
        },
        "tasks": [{"ansible.builtin.import_tasks": "release.yml"}],
    }  # fmt: skip
    (directory / "play.yml").write_text(yaml.safe_dump([play]))
    hosts = {
        name: {"ansible_connection": "local", "ansible_python_interpreter": "{{ ansible_playbook_python }}"}
        for name in HOSTS
    }
    (directory / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
    done = run(
        "ansible-playbook", "-i", directory / "hosts.yml", directory / "play.yml", ANSIBLE_LIBRARY=library
    )  # fmt: skip
    return done.returncode, log.read_text().splitlines()


def test_batches_follow_each_other_while_all_report(tmp_path: Path) -> None:
    code, done = go(tmp_path)
    assert code == 0
    assert [*sorted(done[:2]), *done[2:]] == ["converge h1", "converge h2", "joined h1,h2", "converge h3", "joined h3"]


@pytest.mark.parametrize(("how", "why", "names"), [("fails", "it does not start", "h1 h2"), ("late", "silent", "h2")])
def test_it_stops_at_a_batch_that_is_broken_and_asks_those_hosts_alone(
    tmp_path: Path, how: str, why: str, names: str
) -> None:
    code, done = go(tmp_path, **{how: names})
    lost = names.split()
    assert code == 2
    assert sorted(done[:2]) == ["converge h1", "converge h2"]
    assert [done[2], *sorted(done[3:-1])] == ["joined h1,h2", *(f"look {one}" for one in lost)]
    assert json.loads(done[-1].removeprefix("lost ")) == [
        dict.fromkeys(lost, why), {one: {"nova-compute": f"failed: words of {one}"} for one in lost},
    ]  # fmt: skip
