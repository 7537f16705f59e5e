"""Roles validate what they are given, and the plays of a site are told apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION

TAKEN = re.compile(r"name: groundup\.cloud\.(\w+)\n(?:\s+tasks_from: (\w+))?")
PLAYED = re.compile(r"roles: \[groundup\.cloud\.(\w+)\]")


def specs(role: str) -> dict[str, Any]:
    """Return a role's argument specs."""
    text = (COLLECTION / f"roles/{role}/meta/argument_specs.yml").read_text()
    found: dict[str, Any] = yaml.safe_load(text)["argument_specs"]
    return found


def test_entry_points_that_playbooks_take_have_argument_specs() -> None:
    texts = [path.read_text() for path in (COLLECTION / "playbooks").glob("*.yml")]
    taken = {(role, entry or "main") for text in texts for role, entry in TAKEN.findall(text)}
    taken |= {(role, "main") for text in texts for role in PLAYED.findall(text)}
    assert {("storage", "member"), ("host", "main"), ("host", "network")} <= taken
    assert not [(role, entry) for role, entry in sorted(taken) if entry not in specs(role)]


@pytest.mark.parametrize("role", sorted(path.name for path in (COLLECTION / "roles").iterdir()))
def test_defaults_of_a_role_are_in_its_argument_specs(role: str) -> None:
    path = COLLECTION / f"roles/{role}/defaults/main.yml"
    defaults = yaml.safe_load(path.read_text()) if path.exists() else {}
    options = {name: option for entry in specs(role).values() for name, option in entry["options"].items()}
    relayed = {"kubernetes_site", "kubernetes_host", "lab_hosts_storage"}  # other names of the plan's
    assert set(defaults) - relayed <= set(options)
    for name, value in defaults.items():
        assert "default" not in options.get(name, {}) or options[name]["default"] == value, name


def test_no_play_skips_the_validation() -> None:
    found = [*(COLLECTION / "playbooks").glob("*.yml"), *(COLLECTION / "roles").rglob("*.yml")]
    assert not [path for path in found if "rolespec_validate" in path.read_text()]


def test_plays_of_the_site_have_names_of_their_own() -> None:
    names = list(_names(COLLECTION / "playbooks/site.yml", {}))
    assert {"Preflight of host", "Hosts set aside in kubernetes"} <= set(names)
    assert not {name for name in names if names.count(name) > 1}


def _names(path: Path, given: dict[str, Any]) -> Iterator[str]:
    for play in yaml.safe_load(path.read_text()):
        if imported := play.get("ansible.builtin.import_playbook"):
            variables = given | play.get("vars", {})
            yield from _names(path.with_name(f"{imported.removeprefix('groundup.cloud.')}.yml"), variables)
        else:
            yield re.sub(r"{{.*}}", str(given.get("groundup_layer")), play["name"])
