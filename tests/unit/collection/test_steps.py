"""What the step of a room says: never an option that is secret."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._base.module import run_step

GIVEN = {"name": "control-1", "password": "hush-hush", "keys": {"ceph/mon": "AQB-key"}, "empty": None}


def leaks(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    changes.add(f"write {given['password']}")
    raise GroundupError(f"{given['keys']['ceph/mon']} is refused", where="here", why="the test says so", remedy="none")


def test_what_is_given_is_in_no_journal_and_names_are_in_results(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logged: list[str] = []
    monkeypatch.setattr(AnsibleModule, "log", lambda _, msg, log_args=None: logged.append(f"{msg} {log_args}"))

    def work(_: Changes, given: dict[str, Any]) -> dict[str, Any]:
        return {"changed": False, "of": given["name"]}

    with patch_module_args({"step": "one", "given": GIVEN}), pytest.raises(SystemExit):
        run_step({"one": work}, secret=("password", "keys", "empty"))
    assert any("step=one" in line for line in logged), "or nothing was looked at"
    assert not [line for line in logged if any(one in line for one in ("hush-hush", "AQB-key", "control-1"))]
    assert json.loads(capsys.readouterr().out)["of"] == "control-1"


def test_a_secret_option_is_in_no_result(capsys: pytest.CaptureFixture[str]) -> None:
    with patch_module_args({"step": "one", "given": GIVEN}), pytest.raises(SystemExit):
        run_step({"one": leaks}, secret=("password", "keys", "empty"))
    said = capsys.readouterr().out  # what comes over the connection, the arguments too
    assert json.loads(said)["failed"]
    assert "is refused" in said
    assert "hush-hush" not in said
    assert "AQB-key" not in said


def test_only_the_rooms_own_steps_are_done(capsys: pytest.CaptureFixture[str]) -> None:
    with patch_module_args({"step": "two", "given": GIVEN}), pytest.raises(SystemExit):
        run_step({"one": leaks})
    assert "must be one of: one" in json.loads(capsys.readouterr().out)["msg"]


@pytest.mark.parametrize(
    ("room", "loaded"),
    [("host", ()), ("cluster", ("urllib3",)), ("hypervisors", ("openstack", "keystoneauth1"))],
)
def test_what_every_step_of_an_action_needs_is_loaded_before_ansible_forks(room: str, loaded: tuple[str, ...]) -> None:
    """It loads the action once, in its own process, and starts one more for every host and task."""
    program = (
        "import sys\n"
        f"from ansible_collections.groundup.cloud.plugins.action import {room}\n"
        "from ansible_collections.groundup.cloud.plugins.plugin_utils import actions\n"
        "before = actions._documented.cache_info().misses\n"
        f"assert actions.documented({room!r})['step']\n"
        "assert actions._documented.cache_info().misses == before\n"
        f"assert set({loaded!r}) <= set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_few_steps_of_an_action_need_is_loaded_by_them() -> None:
    program = (
        "import sys\n"
        "from ansible_collections.groundup.cloud.plugins.action import cluster\n"
        "late = ('openstack', 'ansible_collections.groundup.cloud.plugins.plugin_utils.helm')\n"
        "assert not set(late) & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
