"""The collection as a user gets it: it builds, installs into an empty path, and documents everything in it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply import load_lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.builder import builder_of

ROOT = Path(__file__).resolve().parents[3]
KINDS = {
    "action": "module",
    "modules": "module",
    "inventory": "inventory",
    "lookup": "lookup",
    "callback": "callback",
    "filter": "filter",
}


def run(*command: str, collections: Path) -> str:
    """Run an Ansible command that sees only ``collections`` and what the virtual environment brings."""
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(collections)}
    environment.pop("PYTHONPATH", None)  # this clone is on it
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the collection from this tree and install it into an empty path."""
    built, target = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("installed")
    run("ansible-galaxy", "collection", "build", str(ROOT), "--output-path", str(built), collections=target)
    (tarball,) = built.glob("groundup-cloud-*.tar.gz")
    run(
        "ansible-galaxy",
        "collection",
        "install",
        str(tarball),
        "-p",
        str(target),
        "--offline",
        "--no-deps",
        collections=target,
    )
    return target


def test_the_built_collection_leaves_out_what_a_user_does_not_need(installed: Path) -> None:
    collection = installed / "ansible_collections/groundup/cloud"
    for name in ("plugins/inventory/site.py", "docs/site.schema.json"):
        assert (collection / name).is_file(), name
    assert {path.name for path in collection.iterdir()} == {
        "CHANGELOG.rst", "FILES.json", "MANIFEST.json", "README.md", "ansible.cfg", "changelogs", "charts", "docs",
        "inventories", "meta", "playbooks", "plugins", "requirements.in", "requirements.txt", "roles", "supply",
        "supply.lock",
    }  # fmt: skip


def test_what_an_execution_environment_is_made_of_is_in_the_built_collection(installed: Path) -> None:
    collection = installed / "ansible_collections/groundup/cloud"
    named = yaml.safe_load((collection / "meta/execution-environment.yml").read_text())["dependencies"]
    for file in named.values():
        assert (collection / file).is_file(), file


def test_the_built_collection_has_everything_artifacts_are_built_from(installed: Path) -> None:
    sources = {path for entry in load_lock().artifacts.values() for path in builder_of(entry).sources(entry)}
    assert sources
    for path in sources:
        assert (installed / "ansible_collections/groundup/cloud" / path.relative_to(COLLECTION)).exists(), path


@pytest.mark.parametrize("directory", KINDS)
def test_every_plugin_and_module_is_documented(installed: Path, directory: str) -> None:
    sources = (path.stem for path in (ROOT / "plugins" / directory).glob("[!_]*.py"))
    if names := sorted(f"groundup.cloud.{name}" for name in sources):
        documented = json.loads(run("ansible-doc", "-t", KINDS[directory], "-j", *names, collections=installed))
        for name in names:
            assert documented[name]["doc"]["short_description"], name
            assert documented[name]["doc"]["version_added"], name


def test_every_role_is_documented(installed: Path) -> None:
    documented = json.loads(run("ansible-doc", "-t", "role", "-j", "-l", "groundup.cloud", collections=installed))
    for role in sorted(path for path in (ROOT / "roles").iterdir() if path.is_dir()):
        assert "main" in documented[f"groundup.cloud.{role.name}"]["entry_points"], role.name
