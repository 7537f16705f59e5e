"""What Ansible gets from a site file: groups, three variables, how to connect; and what is wrong with the file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleParserError
from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible_collections.groundup.cloud.plugins.inventory.site import InventoryModule

ROOT = Path(__file__).resolve().parents[3]
LAB = ROOT / "inventories/lab/site.yml"


def inventory(path: Path) -> InventoryData:
    """Return what the plugin makes of ``path``."""
    data = InventoryData()
    InventoryModule().parse(data, DataLoader(), str(path))
    data.reconcile_inventory()
    return data


def members(data: InventoryData) -> dict[str, set[str]]:
    """Return the hosts of every group."""
    return {name: {host.name for host in group.get_hosts()} for name, group in data.groups.items()}


def test_groups_follow_roles_racks_cluster_and_provisioner() -> None:
    groups = members(inventory(LAB))
    assert groups["seed"] == {"seed-1"}
    assert groups["control"] == {"control-1"}
    assert groups["kubernetes"] == {"control-1", "worker-1", "worker-2"}
    assert groups["rack_r1"] == groups["provisioner_container"] == groups["all"]


def test_groups_of_roles_exist_without_machines() -> None:
    assert members(inventory(LAB))["hypervisor"] == set()


def test_hosts_have_their_own_part_of_the_plan_and_an_address() -> None:
    variables = inventory(LAB).hosts["worker-2"].get_vars()
    assert variables["ansible_host"] == variables["groundup_host"]["address"] == "10.90.0.65"
    assert set(variables) - {
        "inventory_file",
        "inventory_dir",
        "inventory_hostname",
        "inventory_hostname_short",
        "group_names",
    } == {
        "ansible_host",
        "groundup_host",
    }


def test_an_account_that_is_not_root_becomes_root_on_hosts_and_never_on_the_controller(tmp_path: Path) -> None:
    path = tmp_path / "site.yml"
    path.write_text(LAB.read_text() + "access: {user: ops}\n")
    data = inventory(path)
    assert {host.get_vars()["ansible_become"] for host in data.hosts.values()} == {True}
    assert "ansible_become" not in data.groups["all"].get_vars()
    assert data.groups["all"].get_vars()["ansible_user"] == "ops"


def test_all_hosts_share_the_site_and_the_way_to_connect(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    variables = inventory(LAB).groups["all"].get_vars()
    assert variables["groundup_site_file"] == str(LAB)
    assert variables["groundup_site"]["domain"] == "lab.test"
    assert variables["ansible_ssh_private_key_file"] == str(tmp_path / "lab/ssh/id_ed25519")
    assert str(tmp_path / "lab/ssh/known_hosts") in variables["ansible_ssh_common_args"]


def test_a_host_that_is_called_like_a_group_does_not_take_the_groups_variables(tmp_path: Path) -> None:
    path = tmp_path / "site.yml"
    path.write_text(
        LAB.read_text().replace(
            "worker: {count: 2, rack: r1}", "worker: {names: [worker], machines: {worker: {number: 1}}}"
        )
    )
    data = inventory(path)
    assert data.hosts["worker"].get_vars()["ansible_host"] == "10.90.0.64"
    assert "ansible_host" not in data.groups["worker"].get_vars()


def test_a_wrong_file_is_refused_with_key_and_remedy(tmp_path: Path) -> None:
    path = tmp_path / "site.yml"
    path.write_text(LAB.read_text().replace("count: 2", "cuont: 2"))
    with pytest.raises(
        AnsibleParserError, match=r"machines\.worker\.cuont: unknown key\. Remedy: did you mean 'count'\?"
    ):
        inventory(path)


def test_a_wrong_file_is_told_in_the_sites_words_only(tmp_path: Path) -> None:
    path = tmp_path / "site.yml"
    path.write_text(LAB.read_text().replace("count: 2", "cuont: 2"))
    with pytest.raises(AnsibleParserError) as caught:
        inventory(path)
    assert caught.value.__cause__ is None
    assert "pydantic" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "ours"),
    [
        ("site.yml", "plugin: groundup.cloud.site\n", True),
        ("my-site.yaml", "---\nplugin: 'groundup.cloud.site'\n", True),
        ("site.yml", "", True),  # so that the plugin can say what is missing
        ("my-site.yml", "\ufeffplugin: groundup.cloud.site\n", True),
        ("my-site.yml", "plugin: groundup.cloud.sites\n", True),  # so that the model can say how it is spelt
        ("site.yml", "plugin: other.plugin\n", False),
        ("hosts.yml", "all: {}\n", False),
        ("site.ini", "plugin: groundup.cloud.site\n", False),
    ],
)
def test_only_site_files_are_taken(tmp_path: Path, name: str, text: str, ours: bool) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert InventoryModule().verify_file(str(path)) is ours


def listed(*arguments: str) -> dict[str, Any]:
    """Return what `ansible-inventory` lists."""
    done = run("ansible-inventory", *arguments, "--list")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run(command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Return one of Ansible's commands, finished, with the settings of the repository."""
    return subprocess.run(
        [Path(sys.executable).with_name(command), *arguments],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".run")},
    )


def test_the_command_lists_a_region_with_plain_strings() -> None:
    found = listed("-i", str(ROOT / "inventories/region/site.yml"))["_meta"]["hostvars"]
    assert len(found) == 327
    assert found["hypervisor-r8-40"]["groundup_host"]["fqdn"] == "hypervisor-r8-40.region.example.org"


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
