"""What Ansible gets from a site file: groups, three variables, how to connect; and what is wrong with the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible.errors import AnsibleParserError
from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible_collections.groundup.cloud.plugins.inventory.site import InventoryModule
from ansible_collections.groundup.cloud.plugins.plugin_utils import state_format
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.layers import groups_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.identity import identity_file
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import home_of
from ansible_collections.groundup.cloud.tests.unit.plan.served_cases import HOST_KEY

ROOT = Path(__file__).resolve().parents[3]
LAB = ROOT / "inventories/lab/site.yml"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a state directory in which nothing was discovered."""
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))


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


def test_the_network_layer_has_hosts_where_neutron_is_a_service() -> None:
    assert members(inventory(LAB))["network"] == set()
    assert "network" in groups_of(("control",), node=True, services=("keystone", "neutron"))
    assert "network" not in groups_of(("worker",), node=True, services=("neutron",))


def test_groups_of_roles_exist_without_machines() -> None:
    assert members(inventory(LAB))["hypervisor"] == set()


def test_only_a_site_with_lab_hosts_has_their_group() -> None:
    assert members(inventory(LAB))["provisioner_existing"] == set()
    region = inventory(ROOT / "inventories/region/site.yml")
    assert "provisioner_container" not in region.groups, "plays ask whether it is defined"


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


def test_every_host_of_a_plan_with_an_error_is_refused_and_no_other(tmp_path: Path) -> None:
    assert members(inventory(LAB))["refused"] == set()
    path = tmp_path / "site.yml"
    path.write_text(LAB.read_text() + f"access: {{host_keys: {{nobody: {HOST_KEY}}}}}\n")
    groups = members(inventory(path))
    assert groups["refused"] == groups["all"]


def test_only_hosts_with_links_are_in_the_group_that_the_network_s_play_runs_on() -> None:
    assert members(inventory(LAB))["managed_network"] == set()
    assert members(inventory(LAB.parents[1] / "lab-metal/site.yml"))["managed_network"] == {"worker-1"}


def test_hosts_that_a_quorum_is_made_of_change_their_network_in_turn(tmp_path: Path) -> None:
    text = (LAB.parents[1] / "lab-metal/site.yml").read_text()
    assert members(inventory(LAB.parents[1] / "lab-metal/site.yml"))["network_in_turn"] == set()
    path = tmp_path / "site.yml"
    path.write_text(text.replace("  worker:\n", "  worker:\n    roles: [control, worker]\n", 1))
    assert members(inventory(path))["network_in_turn"] == {"worker-1"}


def test_a_discovered_machine_s_network_is_known_by_the_ports_that_were_found() -> None:
    site = LAB.parents[1] / "lab-metal/site.yml"
    place = identity_file(home_of("lab-metal"), "found-1")
    assert members(inventory(site))["managed_network"] == {"worker-1"}
    place.parent.mkdir(parents=True)
    ports = {"provisioning": "52:54:00:00:00:01", "management": "52:54:00:00:00:02"}
    found = {"node": "n", "serial": "", "bmc": "10.77.1.99", "macs": sorted(ports.values()), "ports": ports}
    place.write_text(json.dumps(found))
    data = inventory(site)
    assert members(data)["managed_network"] == {"worker-1", "found-1"}
    links = {link["network"]: link["mac"] for link in data.hosts["found-1"].vars["groundup_host"]["links"]}
    assert links == ports


def test_the_state_of_a_newer_version_ends_the_run_before_its_first_play(tmp_path: Path) -> None:
    (tmp_path / "state/lab").mkdir(parents=True)
    (tmp_path / "state/lab" / state_format.FILE).write_text("9999\n")
    with pytest.raises(AnsibleParserError, match=rf"format 9999.* up to {state_format.FORMAT}\b"):
        inventory(LAB)
