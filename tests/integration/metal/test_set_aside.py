"""A run goes on without a host that is down or fails, within the limit, and says so: warning, table and exit code."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.tests.integration.commands import run

SPARED = """\
from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.plugin_utils.hosts import spared


class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        return spared(
            lambda: self._execute_module(module_name="ansible.builtin.command", task_vars=task_vars),
            task_vars, layer="host", spare=self._task.name == "spare",
        )
"""
PENDING = {
    "host": "worker-2", "layer": "ironic", "reason": "pending: provisioning, its ramdisk boots",
    "remedy": "none is needed", "pending": True,
}  # fmt: skip
HERE: dict[str, Any] = {"ansible_connection": "local"}
GONE: dict[str, Any] = {"ansible_host": "127.0.0.1", "ansible_port": 9}


def play(
    directory: Path, *, failing: str = "", gone: str = "", limit: int = 1, then: str = "exit 0", stops: bool = False,
    pending: str = "", enough: dict[str, Any] | None = None,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Run a layer on three hosts and one after it, which runs ``then``; with ``stops`` the first cannot be spared."""
    hosts = {
        name: (GONE if name in gone.split() else HERE)
        | {"groundup_host": {"group": name.partition("-")[0], "rack": "r1"}}
        for name in ("control-1", "worker-1", "worker-2")
    }
    inventory = {
        "all": {
            "hosts": hosts,
            "children": {"absent": {}},
            "vars": {
                "groundup_dry_run": False,
                "groundup_site": {"max_unavailable": {"control": 0, "worker": limit}, "enough": enough or {}},
                "ansible_python_interpreter": "{{ ansible_playbook_python }}",
            },
        }
    }
    (directory / "hosts.yml").write_text(json.dumps(inventory))
    (directory / "action_plugins").mkdir()
    (directory / "action_plugins/work.py").write_text(SPARED)
    (directory / "library").mkdir()
    (directory / "library/work.py").touch()
    fails = f"case ' {failing} ' in *' {{{{ inventory_hostname }}}} '*) exit 7;; esac"
    aside = {
        "name": "pending", "when": bool(pending),
        "ansible.builtin.add_host": {"name": pending or "nobody", "groups": ["absent"], "groundup_aside": PENDING},
    }  # fmt: skip
    first = {"name": "must" if stops else "spare", "work": {"argv": ["sh", "-c", fails]}}
    second = {"name": "must", "work": {"argv": ["sh", "-c", then]}}
    common = {"gather_facts": False, "hosts": "all:!absent"}
    plays = [
        {"name": "zero", "tasks": [aside], **common},
        {"name": "one", "tasks": [first], "strategy": "ansible.builtin.host_pinned", **common},
        {"import_playbook": "groundup.cloud.set_aside"},
        {"name": "two", "tasks": [second], "any_errors_fatal": True, "max_fail_percentage": 0, **common},
        {"name": "three", "tasks": [{"ansible.builtin.debug": {"msg": "the end"}}], **common},
    ]
    (directory / "play.yml").write_text(json.dumps(plays))
    return run("ansible-playbook", "-i", directory / "hosts.yml", directory / "play.yml", cwd=directory)


def ends(done: subprocess.CompletedProcess[str]) -> tuple[int, bool]:
    """Return the exit code, and whether the last play ran."""
    return done.returncode, "the end" in done.stdout


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"failing": "worker-2"}, "non-zero return code"),
        ({"gone": "worker-2"}, "unreachable: Data could not be sent to remote host"),
    ],
    ids=["fails", "is gone"],
)
def test_a_run_goes_on_without_a_worker_and_says_so(tmp_path: Path, options: dict[str, Any], why: str) -> None:
    done = play(tmp_path, **options)
    assert ends(done) == (4, True), done.stdout + done.stderr
    assert f"worker-2 is set aside in layer host: {why}" in " ".join(done.stderr.split())
    table = done.stdout.partition("PLAY RECAP")[2]
    assert [line.split()[:2] for line in table.splitlines() if line.startswith(("host ", "worker-2  host"))] == [
        ["host", "layer"],
        ["worker-2", "host"],
    ], done.stdout
    assert "remedy: " in table
    assert "The run went to its end without: worker-2" in table
    assert '"worker-2": "the end"' not in done.stdout
    assert done.stdout.count("the end") == 2, "later plays leave it out"


@pytest.mark.parametrize(
    ("options", "group"),
    [
        ({"failing": "worker-1 worker-2"}, "worker"),
        ({"gone": "control-1"}, "control"),
        ({"gone": "worker-1", "limit": 0}, "worker"),
    ],
    ids=["too many workers", "a control host", "no worker may"],
)
def test_a_run_stops_when_more_are_set_aside_than_may_be(tmp_path: Path, options: dict[str, Any], group: str) -> None:
    done = play(tmp_path, **options)
    assert ends(done) == (2, False), done.stdout + done.stderr
    shown = done.stdout + done.stderr
    assert f"machines.{group}.max_unavailable of the site file" in shown
    assert "The run stopped without: " in shown
    failure, _, end = done.stdout.partition("PLAY RECAP")
    assert "\nhost " not in failure + done.stderr, "once, at the end"
    assert "\nhost " in end


def test_a_run_that_stops_later_says_so_by_its_exit_code_though_a_host_is_set_aside(tmp_path: Path) -> None:
    done = play(tmp_path, gone="worker-1", then="exit 3")
    assert ends(done) == (2, False), done.stdout + done.stderr
    assert "The run stopped without: worker-1" in done.stdout


def test_a_host_that_a_layer_cannot_spare_stops_it_at_once(tmp_path: Path) -> None:
    done = play(tmp_path, gone="control-1 worker-1 worker-2", stops=True)
    assert ends(done) == (2, False), done.stdout + done.stderr
    assert "control-1 is unreachable: Data could not be sent" in done.stdout + done.stderr


def test_a_run_that_spares_nobody_ends_well(tmp_path: Path) -> None:
    done = play(tmp_path)
    assert ends(done) == (0, True), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("options", "ends_with"),
    [
        ({"pending": "worker-2", "limit": 0, "enough": {"machines": 1}}, 4),
        ({"pending": "worker-2", "enough": {"machines": 1}, "failing": "worker-1"}, 2),
        ({"pending": "worker-2", "enough": {"machines": 1, "critical": ["worker-2"]}}, 2),
        ({"failing": "worker-2", "enough": {"machines": 1, "racks": {"r1": [2, 2]}}}, 2),
    ],
    ids=["is no failure", "enough no longer serve", "is critical", "too few in a rack"],
)
def test_a_machine_that_was_not_waited_for_counts_by_what_is_enough(
    tmp_path: Path, options: dict[str, Any], ends_with: int
) -> None:
    options["enough"] = {"worker": {"size": 2, "racks": {}, "critical": []} | options["enough"]}
    done = play(tmp_path, **options)
    assert ends(done) == (ends_with, ends_with == 4), done.stdout + done.stderr
    if ends_with == 2:
        said = done.stdout + done.stderr
        assert "serve, 1 are enough" in said or "is critical" in said or "in rack r1 serve, 2 are enough" in said
