"""What a run changed and where its time went: one line, with -v one row a play, and the same figures in a file."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.tests.integration.commands import run as run_command

PLAYS = """\
- name: First
  hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.debug: {msg: only on a}
      when: inventory_hostname == "a"
    - ansible.builtin.command: "false"
      ignore_errors: true
    - ansible.builtin.command:
        argv:
          - "{{ ansible_python_interpreter }}"
          - -c
          - "import time; [0 for _ in iter(lambda: time.process_time() < 1, False)]"
- name: Nobody is meant
  hosts: nobody
  gather_facts: false
  tasks:
    - ansible.builtin.command: "true"
- name: Touched
  hosts: b
  gather_facts: false
  tasks:
    - ansible.builtin.file: {path: touched, state: touch}
      when: touched is defined
- name: Really
  hosts: b
  gather_facts: false
  tasks:
    - ansible.builtin.file: {path: touched, state: touch}
      check_mode: false
      when: touched is defined
- name: Second
  hosts: b
  gather_facts: false
  tasks:
    - ansible.builtin.command: "{{ item }}"
      changed_when: item == "true"
      loop: ["true", "echo"]
    - ansible.builtin.fail: {msg: the run ends here}
    - ansible.builtin.debug: {msg: never}
"""


def play(directory: Path, *arguments: str, file: str | None) -> tuple[str, int]:
    """Run PLAYS on two hosts that are this machine; return what was printed and the exit code."""
    (directory / "plays.yml").write_text(PLAYS)
    python = f"ansible_python_interpreter={sys.executable}"
    done = run_command(
        "ansible-playbook", "-i", "a,b,", "-c", "local", "-e", python, "plays.yml", *arguments,
        cwd=directory, ANSIBLE_LOCALHOST_WARNING="false", GROUNDUP_TIMELINE=file,
    )  # fmt: skip
    return done.stdout + done.stderr, done.returncode


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """What a run that fails in its last play printed, and the figures it wrote."""
    directory = tmp_path_factory.mktemp("timeline")
    printed, code = play(directory, "-v", file=str(directory / "timeline.json"))
    assert code == 2, printed
    figures: dict[str, Any] = json.loads((directory / "timeline.json").read_text())
    return printed, figures


def test_tasks_are_counted_per_host_skipped_and_failed_ones_too_loops_once(run: tuple[str, dict[str, Any]]) -> None:
    plays = {each["name"]: each for each in run[1]["plays"]}
    assert plays["First"]["tasks"] == {"a": 3, "b": 3}
    assert plays["Second"]["tasks"] == {"b": 2}, "the loop, the failure; not what came after"


def test_changes_are_those_of_tasks_that_changed_something(run: tuple[str, dict[str, Any]]) -> None:
    plays = {each["name"]: each for each in run[1]["plays"]}
    assert plays["First"]["changed"] == {"a": 1, "b": 1}
    assert plays["Second"]["changed"] == {"b": 1}


def test_a_play_without_a_task_has_no_row_and_a_failed_run_has_its_table(run: tuple[str, dict[str, Any]]) -> None:
    printed, figures = run
    names = ["First", "Touched", "Really", "Second"]
    assert [each["name"] for each in figures["plays"]] == names
    rows = [line.split() for line in printed[printed.index("tasks/host") :].splitlines()[1:]]
    assert [row[0] for row in rows[:5]] == [*names, "total"]
    assert [rows[0][3:], rows[3][3:]] == [["3", "2"], ["2", "1"]], "the most of any host, the changes of all"


def test_the_parts_do_not_exceed_the_whole(run: tuple[str, dict[str, Any]]) -> None:
    figures = run[1]
    for figure in ("seconds", "cpu_seconds"):
        parts = [each[figure] for each in figures["plays"]]
        assert all(part > 0 for part in parts)
        assert sum(parts) <= figures[figure]


def test_cpu_seconds_are_those_of_the_play_that_used_them(run: tuple[str, dict[str, Any]]) -> None:
    plays = {each["name"]: each for each in run[1]["plays"]}
    assert plays["First"]["cpu_seconds"] > 2, "its last task used one second on each of two hosts"


def test_the_file_says_that_the_run_stopped(run: tuple[str, dict[str, Any]]) -> None:
    assert (run[1]["ended"], run[1]["access"]) == ("stopped", {})


def test_without_v_one_line_says_what_changed_and_no_file_is_written_unless_one_is_named(tmp_path: Path) -> None:
    printed, _ = play(tmp_path, file=None)
    assert "tasks/host" not in printed
    assert re.search(r"^took \d\d:\d\d min; changed: First 2, Second 1$", printed, re.MULTILINE)
    assert [path.name for path in tmp_path.iterdir()] == ["plays.yml"]


def test_a_prediction_says_what_would_change(tmp_path: Path) -> None:
    printed, _ = play(tmp_path, "--check", "-e", "touched=true", file=None)
    assert re.search(r"min; changed: Really 1; would change: Touched 1$", printed, re.MULTILINE)
    assert "\na prediction\n" in printed
    assert "next: " not in printed, "it failed"


LAYERS = [
    {
        "name": f"Play of {layer}", "hosts": "localhost", "gather_facts": False, "vars": {"groundup_layer": layer},
        "tasks": [
            {"ansible.builtin.add_host": {"name": "x-1", "groups": ["absent"]}, "changed_when": False},
            {"ansible.builtin.file": {"path": layer, "state": "touch"}},
        ],
    }
    for layer in ("plan", "contact", "supply")
]  # fmt: skip


@pytest.mark.parametrize("check", [True, False])
def test_a_run_ends_with_what_changed_by_layer_and_a_prediction_with_what_to_do_next(
    tmp_path: Path, *, check: bool
) -> None:
    (tmp_path / "plays.yml").write_text(json.dumps([*LAYERS, *LAYERS[-1:]]))
    (tmp_path / "hosts").write_text("localhost ansible_connection=local\n")
    more = ("--check",) if check else ()
    done = run_command(
        "ansible-playbook", "-i", "hosts", "plays.yml", "-e", "password=geheim", *more,
        cwd=tmp_path, GROUNDUP_TIMELINE=tmp_path / "timeline.json",
    )  # fmt: skip
    figures, said = json.loads((tmp_path / "timeline.json").read_text()), done.stdout.splitlines()
    assert done.returncode == 0, done.stdout
    assert [line for line in said if line.startswith("Layer")] == ["Layer 1 of 2: plan", "Layer 2 of 2: supply"]
    changes = {"plan": 1, "contact": 1, "supply": 2}
    assert (figures["changed"], figures["would_change"]) == (({}, changes) if check else (changes, {}))
    assert figures["prediction"] is check
    assert figures["not_known"] == ({"hosts": ["x-1"], "tasks": []} if check else {})
    assert [play["layer"] for play in figures["plays"]] == ["plan", "contact", "supply", "supply"]
    if check:
        assert said[-3:] == [
            "not known: what x-1 need: not made yet, or not reached",
            "a prediction: nothing was changed",
            "next: ansible-playbook -i hosts plays.yml, with the same options",
        ]
    else:
        assert re.search(r"min; changed: plan 1, contact 1, supply 2$", said[-1])


def test_a_file_that_cannot_be_written_is_told_and_the_line_stays(tmp_path: Path) -> None:
    printed, code = play(tmp_path, file=str(tmp_path / "absent/timeline.json"))
    assert code == 2, "what the run did is what it returns"
    assert "min; changed: " in printed
    assert "absent/timeline.json" in printed
