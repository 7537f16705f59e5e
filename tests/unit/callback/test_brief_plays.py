"""What a run prints of plays without a task that runs, and of the validation of roles' options."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from ansible import context
from ansible_collections.groundup.cloud.plugins.callback import brief

ROOT = Path(__file__).resolve().parents[3]
ROLE = {"name": "Take", "ansible.builtin.import_role": {"name": "groundup.cloud.host", "tasks_from": "network"}}
SAYS = {"name": "Say", "ansible.builtin.debug": {"msg": "said"}, "tags": "always"}


def play(name: str, *tasks: dict[str, Any], hosts: str = "localhost", **variables: Any) -> dict[str, Any]:
    return {"name": name, "hosts": hosts, "vars": variables, "tasks": list(tasks)}


def run(directory: Path, *plays: dict[str, Any]) -> str:
    """Run what is tagged `always`, on a host without a plan; return what is printed."""
    (directory / "play.yml").write_text(json.dumps(plays))
    done = subprocess.run(
        ["ansible-playbook", "-i", "localhost,", directory / "play.yml", "--tags", "always"],
        capture_output=True, text=True, check=False, env=os.environ | {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")},
    )  # fmt: skip
    return done.stdout + done.stderr


def ended(
    capsys: pytest.CaptureFixture[str], *, access: dict[str, str], stopped: bool = False, dark: tuple[str, ...] = ()
) -> str:
    """End a run with a task that returned ``access``, and perhaps a later one that failed; return what is printed."""
    callback = brief.CallbackModule()
    callback._display = SimpleNamespace(display=lambda text, **_: print(text), verbosity=0)
    callback._access, callback._stopped = access, stopped
    with patch(f"{brief.__name__}.Default.v2_playbook_on_stats"):
        callback.v2_playbook_on_stats(SimpleNamespace(dark=dict.fromkeys(dark, 1)))
    return capsys.readouterr().out


def test_only_plays_with_a_task_that_runs_are_printed(tmp_path: Path) -> None:
    skipped = play("Skipped", {**SAYS, "when": "0 > 1"})
    said = run(tmp_path, play("Nobody", SAYS, hosts="nobody"), skipped, play("Said", SAYS))
    assert [line.split("]")[0] for line in said.splitlines() if line.startswith(("PLAY [", "TASK"))] == [
        "PLAY [Said", "TASK [Say",
    ]  # fmt: skip


def test_options_as_they_must_be_are_not_printed(tmp_path: Path) -> None:
    said = run(tmp_path, play("Valid", ROLE, SAYS, groundup_host={"name": "x"}))
    assert "Validating" not in said
    assert "TASK [Say]" in said
    assert "ok=2 " in said, "it ran"


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ({"host_network_seconds": 9}, "run with the site file as inventory"),
        ({"groundup_host": {}, "host_network_seconds": "soon"}, "correct it where it is set"),
    ],
)
def test_a_refused_option_is_named_with_role_and_remedy(tmp_path: Path, given: dict[str, Any], remedy: str) -> None:
    said = run(tmp_path, play("Refused", ROLE, **given))
    wrong = "groundup_host" if len(given) == 1 else "host_network_seconds"
    assert f"where:  role host, tasks network, variable {wrong}\n" in said
    assert f"remedy: {remedy}" in said


def test_a_run_that_made_sure_of_the_cloud_ends_with_the_way_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    said = ended(capsys, access={"dashboard": "https://dashboard.cloud.test", "": "10.79.0.2 dashboard.cloud.test"})
    assert said.splitlines()[-3:] == [
        "Your cloud is ready.",
        "  dashboard  https://dashboard.cloud.test",
        "             10.79.0.2 dashboard.cloud.test",
    ]


def test_a_run_that_failed_afterwards_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert "ready" not in ended(capsys, access={"dashboard": "https://dashboard.cloud.test"}, stopped=True)
    assert "ready" not in ended(capsys, access={"dashboard": "https://dashboard.cloud.test"}, dark=("hypervisor-1",))


def test_a_run_of_other_layers_says_nothing_of_the_cloud(capsys: pytest.CaptureFixture[str]) -> None:
    assert "ready" not in ended(capsys, access={})


@pytest.mark.parametrize(
    ("value", "check", "tags", "document"),
    [
        (True, False, ["apply"], True),
        (None, True, ["check"], False),
        ("check", False, ["all"], False),
        ("check", True, ["all"], True),
        ("check", False, ["check"], True),
        ("against", True, ["check"], False),
        ("given", False, ["all"], True),
    ],
)
def test_a_play_may_print_a_document_in_a_dry_run_or_with_a_variable_alone(
    monkeypatch: pytest.MonkeyPatch, value: object, check: bool, tags: list[str], document: bool
) -> None:
    monkeypatch.setattr(context, "CLIARGS", {"check": check})
    found = SimpleNamespace(
        vars={} if value is None else {"groundup_document": value}, only_tags=set(tags),
        get_variable_manager=lambda: SimpleNamespace(extra_vars={"given": "x"}),
    )  # fmt: skip
    assert brief.prints_document(found) is document
