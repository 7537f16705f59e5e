"""The measure of docs/add-a-verb.md: a new verb is its own module and playbook; no existing file is touched."""

from __future__ import annotations

import filecmp
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
COPIED = ("plugins", "playbooks", "roles", "inventories/lab", "meta")
VERB = '''"""Put a label on a machine, and a second one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ...module_utils._base.consent import Reason
from .base import Verb


class Label(Verb[list[str]]):
    name, one, loses = "label", "one machine is labelled at a time", "its old label would be lost"
    codes = ("old",)

    def survey(self) -> list[str]:
        self.file = Path(os.environ["LABELS"]) / self.asked.machine
        return self.file.read_text().split() if self.file.exists() else []

    def reasons(self, state: list[str]) -> Iterable[Reason]:
        if "old" in state:
            yield Reason(code="old", text="it has an old label")

    def predict(self, state: list[str]) -> list[str]:
        return [f"label it {one}" for one in ("first", "second") if one not in state]

    def steps(self) -> Mapping[str, Callable[[list[str]], dict[str, Any]]]:
        return {"first": lambda state: self.put("first", state), "second": lambda state: self.put("second", state)}

    def put(self, label: str, state: list[str]) -> dict[str, Any]:
        if label in state:
            return {"changes": []}
        if label == "second" and os.environ.get("DIES"):
            os._exit(9)
        self.file.write_text(" ".join([one for one in state if one != "old"] + [label]))
        return {"changes": [f"label it {label}"]}

    def remains(self, state: list[str]) -> list[str]:
        return [f"it has no label {one}" for one in ("first", "second") if one not in state]

    def next_steps(self) -> str:
        return f"{self.asked.machine} may be shown"


VERB = Label
'''
PLAYBOOK = """---
- name: Label a machine
  ansible.builtin.import_playbook: groundup.cloud.verb
  vars:
    verb: label
    verb_options:
      force: "{{ label_force | default([]) }}"
"""


class Toy:
    """A copy of the collection with the toy verb in it."""

    def __init__(self, directory: Path) -> None:
        self.root, self.labels = directory / "ansible_collections/groundup/cloud", directory / "labels"
        self.labels.mkdir()
        for name in COPIED:
            shutil.copytree(ROOT / name, self.root / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "galaxy.yml", self.root)
        (self.root / "plugins/plugin_utils/verbs/label.py").write_text(VERB)
        (self.root / "playbooks/label.yml").write_text(PLAYBOOK)

    def play(self, *words: str, code: int = 0, **environment: str) -> str:
        """Run the verb's playbook; return what it says."""
        done = subprocess.run(
            ["ansible-playbook", "-i", "inventories/lab/site.yml", "groundup.cloud.label", *words],
            cwd=self.root, check=False, capture_output=True, text=True,
            env={
                **os.environ, "PYTHONPATH": str(self.root.parents[2]), "LABELS": str(self.labels),
                "ANSIBLE_COLLECTIONS_PATH": str(self.root.parents[2]), "GROUNDUP_STATE": str(self.labels / "state"),
                **environment,
            },
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def of(self, machine: str) -> str:
        """Return a machine's labels."""
        file = self.labels / machine
        return file.read_text() if file.exists() else ""


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    return Toy(tmp_path_factory.mktemp("toy"))


def test_no_existing_file_is_touched(toy: Toy) -> None:
    changed = [
        path
        for path in toy.root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and (ROOT / path.relative_to(toy.root)).exists()
        if not filecmp.cmp(path, ROOT / path.relative_to(toy.root), shallow=False)
    ]
    assert changed == []


def test_a_dry_run_predicts_and_a_run_does_its_steps_once_and_says_what_comes_next(toy: Toy) -> None:
    name = ("-e", "machine=control-1")
    assert "label it first" in toy.play(*name, "--check")
    assert not toy.of("control-1")
    assert "it has no label first; it has no label second" in toy.play(*name, "--tags", "verify", code=2)
    assert "control-1 may be shown" in toy.play(*name)
    assert toy.of("control-1") == "first second"
    assert "changed=0" in toy.play(*name)
    toy.play(*name, "--tags", "verify")


def test_a_killed_one_goes_on(toy: Toy) -> None:
    name = ("-e", "machine=control-2")
    toy.play(*name, code=1, DIES="1")
    assert toy.of("control-2") == "first"
    toy.play(*name)
    assert toy.of("control-2") == "first second"


def test_a_reason_against_it_is_told_with_the_word_that_accepts_it(toy: Toy) -> None:
    (toy.labels / "control-3").write_text("old")
    said = toy.play("-e", "machine=control-3", code=2)
    assert "it has an old label" in said
    assert '"label_force": [old]' in said
    assert toy.of("control-3") == "old"
    assert "no risk new to accept" in toy.play("-e", '{"machine": "control-3", "label_force": ["new"]}', code=2)
    toy.play("-e", '{"machine": "control-3", "label_force": ["old"]}')
    assert toy.of("control-3") == "first second"


def test_a_monitoring_host_that_does_not_answer_fails_no_verb(toy: Toy) -> None:
    site = toy.root / "inventories/lab/site.yml"
    text = site.read_text()
    site.write_text(f"{text}monitoring: {{enabled: true, webhook: https://a.test/b}}\n")
    try:
        said = toy.play("-e", "machine=control-4", "-e", "ansible_host=127.0.0.1", "-e", "ansible_port=1")
    finally:
        site.write_text(text)
    assert said.count("monitoring on seed-1 was not told: it does not answer") == 2
    assert toy.of("control-4") == "first second"


def test_without_a_machine_it_says_how_to_name_one(toy: Toy) -> None:
    assert "groundup.cloud.label -e machine=NAME" in toy.play(code=2)
