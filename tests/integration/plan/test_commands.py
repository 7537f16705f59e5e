"""What Ansible's commands say of a site file: hosts, or one error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.tests.integration.commands import ROOT, run

LAB = ROOT / "inventories/lab/site.yml"


def listed(*arguments: str) -> dict[str, Any]:
    """Return what `ansible-inventory` lists."""
    done = run("ansible-inventory", *arguments, "--list")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_command_lists_a_region_with_plain_strings() -> None:
    found = listed("-i", str(ROOT / "inventories/region/site.yml"))["_meta"]["hostvars"]
    assert len(found) == 327
    assert found["hypervisor-r8-40"]["groundup_host"]["fqdn"] == "hypervisor-r8-40.region.example.org"


@pytest.mark.parametrize("site", sorted((ROOT / "inventories").glob("*/site.yml")), ids=lambda path: path.parent.name)
def test_every_playbook_of_a_shipped_site_is_valid(site: Path) -> None:
    done = run("ansible-playbook", "-i", site, "--syntax-check", "groundup.cloud.site")
    assert (done.returncode, done.stderr) == (0, "")


def changed(old: str, new: str) -> str:
    """Return the lab's site file with one change."""
    text = LAB.read_text()
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (changed("cni:", "cnii:"), "line 13, kubernetes.cnii: unknown key. Remedy: did you mean 'cni'?"),
        (changed("count: 2", "count: two"), "line 12, machines.worker.count: 'two': must be a whole number"),
        (changed("cloud.site", "cloud.siet"), "line 3, plugin: 'groundup.cloud.siet' is not one of the choices"),
        ("", "the file is empty. Remedy: start from inventories/lab/site.yml"),
        ("a: [1\nb: {", "line 2, column 2: while parsing a flow sequence"),
    ],
    ids=["unknown key", "wrong type", "plugin", "empty", "no YAML"],
)
@pytest.mark.parametrize(
    "command", [("ansible-inventory", "--list"), ("ansible-playbook", "groundup.cloud.kubernetes")]
)
def test_a_wrong_file_ends_a_command_with_one_error_and_nothing_else(
    tmp_path: Path, command: tuple[str, ...], text: str, said: str
) -> None:
    path = tmp_path / "site.yml"
    path.write_text(text)
    done = run(command[0], "-i", str(path), *command[1:])
    assert done.returncode == 4
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if line]
    assert lines[0] == f"[ERROR]: {path}: no plan can be made from this site file"
    assert lines[1].strip().startswith(said)
    assert len(lines) == 2


def test_two_sites_in_one_run_are_refused_and_one_named_twice_is_one() -> None:
    edge = ROOT / "inventories/edge/site.yml"
    done = run("ansible-inventory", "-i", str(LAB), "-i", str(edge), "--list")
    assert (done.returncode, done.stdout) == (4, "")
    assert f"{LAB} is read in the same run. Remedy: run one site at a time" in done.stderr
    assert set(listed("-i", str(LAB), "-i", str(LAB))["control"]["hosts"]) == {"control-1"}


def test_a_source_that_nobody_reads_ends_the_command(tmp_path: Path) -> None:
    done = run("ansible-inventory", "-i", str(tmp_path / "none.yml"), "--list")
    assert done.returncode == 1
    assert "none.yml" in done.stderr
