"""The play that patches hosts: batch after batch, and what follows when a step fails. Its modules are stand-ins."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.tests.integration.commands import ROOT, run

# Answers by "host step", and notes that it was asked. Another step succeeds.
STAND_IN = """
import json, pathlib
from ansible.module_utils.basic import AnsibleModule
module = AnsibleModule({"host": {}, "step": {}, "home": {}})
home, key = pathlib.Path(module.params["home"]), "{host} {step}".format(**module.params)
with (home / "log").open("a") as log:
    log.write(key + "\\n")
answer = json.loads((home / "answers").read_text()).get(key, {})
if answer.get("failed"):
    module.fail_json(msg=key)
module.exit_json(changed=False, **answer)
"""
LIGHT = {"instances": False, "data": False, "fresh": True, "emptied": False, "control": False}
EMPTIED = {"instances": True, "data": True, "fresh": True, "emptied": True, "control": False}
CONTROL = {**LIGHT, "emptied": True, "control": True}
LIGHTLY = ["begin", "upgrade", "serve", "end"]
WHOLE = ["begin", "drain", "rest", "upgrade", "reboot", "serve", "rise", "enable", "end"]
# The second `serve` is HAProxy's.
APART = ["peer", "begin", "take_out", "stand_down", "upgrade", "halt", "reboot", "serve", "put_back", "serve", "end"]


def stand_in(task: dict[str, Any], home: Path) -> dict[str, Any]:
    """Return ``task`` with a stand-in for its module, on the host itself."""
    if "block" in task:
        return {**task, **{part: [stand_in(one, home) for one in task[part]] for part in ("block", "rescue")}}
    (module,) = (name for name in task if "." in name)
    step = re.findall(r"'step': '(\w+)'", str(task[module])) or ["reboot"]
    kept = {key: value for key, value in task.items() if key in ("name", "when", "register", "run_once", "tags")}
    return {**kept, "stand_in": {"host": "{{ inventory_hostname }}", "step": step[0], "home": str(home)}}


def patched(
    home: Path, order: list[list[str]], answers: dict[str, Any], *, control: str = ""
) -> tuple[int, dict[str, list[str]], str]:
    """Run the play in ``order``; return the exit code, and the steps of each host in the order of hosts.

    ``control``: a control host, which is emptied.
    """
    (home / "library").mkdir()
    (home / "library/stand_in.py").write_text(STAND_IN)
    names = [name for batch in order for name in batch]
    both = {f"{name} begin": LIGHT for name in names} | {f"{name} upgrade": {"reboot": False} for name in names}
    (home / "answers").write_text(json.dumps({**both, **answers}))
    plays = yaml.safe_load((ROOT / "playbooks/patch_hosts.yml").read_text())
    (play,) = (one for one in plays if one.get("name") == "Patch hosts")
    play["tasks"] = [
        stand_in(one, home) for one in play["tasks"] if "ansible.builtin.import_role" not in one
    ]  # silences
    play["vars"] |= {"groundup_site": {"access": {"user": "root"}}, "groundup_site_file": "-"}
    told = {"order": order, "patch": {"emptied": [control]}}
    groups = [{"ansible.builtin.add_host": {"name": control, "groups": "control"}}] if control else []
    first = {
        "hosts": "localhost", "gather_facts": False, "connection": "local",
        "tasks": [{"ansible.builtin.set_fact": {"patch_found": told}}, *groups],
    }  # fmt: skip
    (home / "play.yml").write_text(json.dumps([first, play]))
    inventory = ",".join([*sorted(names, reverse=True), "spare", ""])
    done = run(
        "ansible-playbook", "-i", inventory, "-c", "local", home / "play.yml", ANSIBLE_LIBRARY=home / "library"
    )  # fmt: skip
    found: dict[str, list[str]] = {}
    for line in (home / "log").read_text().splitlines() if (home / "log").exists() else ():
        name, _, step = line.partition(" ")
        found.setdefault(name, []).append(step)
    return done.returncode, found, done.stdout + done.stderr


def test_batches_come_in_order_and_each_host_is_emptied_and_rebooted_as_it_needs(tmp_path: Path) -> None:
    answers = {"b begin": EMPTIED, "b upgrade": {"reboot": True}}
    code, found, said = patched(tmp_path, [["c"], ["b", "a"]], answers)
    assert code == 0, said
    assert found == {"c": ["room", *LIGHTLY], "b": ["room", *WHOLE], "a": LIGHTLY}, "room is asked once a batch"


@pytest.mark.parametrize(
    ("step", "then"),
    [
        ("begin", ["give_up"]),
        ("drain", ["rise", "enable", "give_up"]),
        ("rest", ["rise", "enable", "give_up"]),
        ("upgrade", ["give_up"]),
        ("reboot", ["give_up"]),
        ("rise", ["give_up"]),
    ],
)
def test_a_host_that_fails_is_set_aside_and_serves_again_when_it_is_as_it_was(
    tmp_path: Path, step: str, then: list[str]
) -> None:
    answers = {"b begin": EMPTIED, "b upgrade": {"reboot": True}, f"b {step}": {"failed": True}}
    code, found, said = patched(tmp_path, [["b", "a"], ["c"]], answers)
    assert code == 0, said
    assert found["b"] == ["room", *WHOLE[: WHOLE.index(step) + 1], *then]
    assert (found["a"], found["c"]) == (LIGHTLY, ["room", *LIGHTLY]), "the others go on"


def test_a_control_host_leaves_haproxy_hands_over_and_comes_back_before_the_next(tmp_path: Path) -> None:
    answers = {"b begin": CONTROL, "b upgrade": {"reboot": True}}
    code, found, said = patched(tmp_path, [["b"], ["c"]], answers, control="b")
    assert code == 0, said
    assert found == {"b": ["room", *APART], "c": ["room", *LIGHTLY]}


@pytest.mark.parametrize("step", ["begin", "take_out", "stand_down", "upgrade", "halt", "reboot", "end"])
def test_a_control_host_that_fails_is_put_back_into_haproxy_after_it_is_set_aside(tmp_path: Path, step: str) -> None:
    answers = {"b begin": CONTROL, "b upgrade": {"reboot": True}, f"b {step}": {"failed": True}}
    code, found, said = patched(tmp_path, [["b"], ["c"]], answers, control="b")
    assert code == 0, said
    assert found["b"] == ["room", *APART[: APART.index(step) + 1], "give_up", "put_back"]
    assert found["c"] == ["room", *LIGHTLY]


def test_the_run_stops_where_there_is_no_room(tmp_path: Path) -> None:
    code, found, said = patched(tmp_path, [["a"], ["b"], ["c"]], {"b room": {"failed": True}})
    assert code == 2, said
    assert found == {"a": ["room", *LIGHTLY], "b": ["room"]}


def test_a_host_that_cannot_be_given_back_stops_the_run(tmp_path: Path) -> None:
    answers = {"a begin": EMPTIED, "a rest": {"failed": True}, "a rise": {"failed": True}}
    code, found, said = patched(tmp_path, [["a"], ["b"]], answers)
    assert code == 2, said
    assert "b" not in found


def test_nothing_is_patched_without_an_order(tmp_path: Path) -> None:
    code, found, said = patched(tmp_path, [], {})
    assert (code, found) == (0, {}), said
