"""The measure of docs/add-a-layer.md: a new layer is its own files and at most three existing ones."""

from __future__ import annotations

import filecmp
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.ci.reference import tables

ROOT = Path(__file__).resolve().parents[3]
COPIED = ("plugins", "ci/reference", "playbooks", "roles", "meta", "docs", "inventories/lab", "inventories/cloud")
NEW = {
    "playbooks/metrics.yml": """\
---
- name: Preflight
  ansible.builtin.import_playbook: groundup.cloud.preflight

- name: Metrics
  hosts: metrics:!absent
  gather_facts: false
  check_mode: "{{ groundup_dry_run }}"
  roles: [groundup.cloud.metrics]
""",
    "roles/metrics/tasks/main.yml": """\
---
- name: Run the exporter
  groundup.cloud.host:
  tags: [check, apply]

- name: Verify
  ansible.builtin.import_tasks: verify.yml
  when: not groundup_dry_run
  tags: [verify]
""",
    "roles/metrics/tasks/verify.yml": "---\n- name: The exporter answers\n  ansible.builtin.ping:\n",
}
RECORD = """\
    "metrics": LayerRecord(
        needs=("kubernetes",), group="metrics", roles=("control", "worker"), library="-", owns="exporters",
        installs=(
            PackageSet(roles=frozenset(("worker",)), packages=("collectd",), sysctl={"net.core.somaxconn": "64"}),
        ),
    ),
    "storage": LayerRecord("""
IMPORT = """\
- name: Metrics
  ansible.builtin.import_playbook: groundup.cloud.metrics
  vars: {groundup_layer: metrics}

- name: OpenStack
"""


def replaced(path: Path, old: str, new: str) -> None:
    """Put ``new`` in the place of ``old``, which is in the file once."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} in {path}"
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the collection with a layer `metrics` between Kubernetes and OpenStack."""
    root = tmp_path_factory.mktemp("tree") / "ansible_collections/groundup/cloud"
    for name in COPIED:
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "galaxy.yml", root)
    for name, text in NEW.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    replaced(root / "plugins/plugin_utils/layers/layers.py", '    "storage": LayerRecord(', RECORD)
    replaced(root / "playbooks/site.yml", "- name: OpenStack\n", IMPORT)
    return root


@pytest.fixture(scope="module")
def made(tree: Path) -> dict[str, Any]:
    """Return what Ansible makes of the copy."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("toy_site.py"), tree],
        check=False,
        capture_output=True,
        text=True,
        cwd=tree,
        env={
            **os.environ,
            "PYTHONPATH": str(tree.parents[2]),
            "ANSIBLE_COLLECTIONS_PATH": str(tree.parents[2]),
            "GROUNDUP_STATE": str(tree / "state"),
        },
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    (tree / tables.LAYERS_PAGE).write_text(found["page"], encoding="utf-8")
    return found


@pytest.mark.usefixtures("made")
def test_three_existing_files_are_touched(tree: Path) -> None:
    changed = [
        str(path.relative_to(tree))
        for path in tree.rglob("*")
        if path.is_file() and (ROOT / path.relative_to(tree)).exists()
        if not filecmp.cmp(path, ROOT / path.relative_to(tree), shallow=False)
    ]
    assert sorted(changed) == [tables.LAYERS_PAGE, "playbooks/site.yml", "plugins/plugin_utils/layers/layers.py"]


def test_its_plays_run_in_its_place_with_the_three_verbs(made: dict[str, Any]) -> None:
    plays = dict(made["plays"])
    names = list(plays)
    assert names.index("Kubernetes") < names.index("Metrics") < names.index("OpenStack")
    assert plays["Metrics"] == ["apply", "check", "verify"]


def test_the_inventory_has_its_group(made: dict[str, Any]) -> None:
    assert made["groups"]["metrics"] == ["control-1", "worker-1", "worker-2"]


def test_its_hosts_have_its_settings(made: dict[str, Any]) -> None:
    assert made["host"]["packages"]["metrics"] == ["collectd"]
    assert made["host"]["sysctl"] == {"net.core.somaxconn": "64"}


def test_the_documentation_has_its_row(made: dict[str, Any]) -> None:
    rows = [line for line in made["page"].splitlines() if line.startswith("| metrics |")]
    assert rows == ["| metrics | kubernetes | `metrics` | `metrics` | `host` | - | exporters |"]
