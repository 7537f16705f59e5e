"""Machines from power-off in the plan, and what Ironic and a machine are told of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._host import networkd
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import documents
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, SiteError, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.serial import host_vars
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.platform.metal import ARTIFACTS, RUNNER
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply import load_lock

SITE = COLLECTION / "inventories/lab-metal/site.yml"


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(load_site(SITE))


def test_the_lab_s_dark_machine_has_no_finding_and_needs_the_artifacts_of_zero_touch(plan: Plan) -> None:
    assert plan.findings == ()
    assert plan.hosts["worker-1"].provisioner == "ironic"
    assert set(ARTIFACTS) <= set(plan.supply.chosen)
    assert plan.metal is not None
    assert plan.metal.api_url == f"https://{plan.hosts['seed-1'].address}:6385"
    assert plan.metal.files_url == f"https://{plan.hosts['seed-1'].address}:8080"  # the seed has no names yet
    assert "6385/tcp" in plan.preflight.by_roles["seed"].listens


def test_a_site_without_dark_machines_opens_no_port_for_them() -> None:
    plain = make_plan(load_site(COLLECTION / "inventories/lab/site.yml"))
    assert plain.metal is None
    assert "6385/tcp" not in plain.preflight.by_roles["seed"].listens


def test_a_seed_configures_machines_only_where_the_site_file_says_so(plan: Plan, tmp_path: Path) -> None:
    assert plan.metal
    assert plan.metal.runner is None
    assert not set(RUNNER) & set(plan.supply.chosen)
    (tmp_path / "site.yml").write_text(SITE.read_text() + "seed: {runner: [host]}\n")
    own = make_plan(load_site(tmp_path / "site.yml"))
    assert own.metal
    assert own.metal.runner
    assert (own.findings, own.metal.runner.layers) == ((), ("host",))
    assert own.metal.runner.environment == "runner-13/2.19.14/environment.tar.gz"
    assert set(RUNNER) <= set(own.supply.chosen)
    (tmp_path / "site.yml").write_text(SITE.read_text() + "seed: {runner: [kubernetes]}\n")
    with pytest.raises(SiteError, match=r"seed\.runner"):
        load_site(tmp_path / "site.yml")


def test_firmware_that_the_site_file_chooses_is_in_what_machines_boot(tmp_path: Path) -> None:
    (tmp_path / "site.yml").write_text(SITE.read_text().replace("source: build", "firmware: [intel-misc, bnx2x]"))
    own = make_plan(load_site(tmp_path / "site.yml"))
    assert own.metal
    assert own.metal.ramdisk == "deploy-ramdisk-13+bnx2x+intel-misc/13.0.0"
    assert own.metal.image == "machine-13+bnx2x+intel-misc/13/machine.qcow2"
    chosen = {name for name in own.supply.chosen if name.startswith(("ironic-", "deploy-", "machine-"))}
    assert chosen == {"ironic-13", "deploy-ramdisk-13+bnx2x+intel-misc", "machine-13+bnx2x+intel-misc"}
    (tmp_path / "site.yml").write_text(SITE.read_text().replace("source: build", "firmware: [iwlwifi]"))
    with pytest.raises(SiteError, match=r"supply\.firmware"):
        load_site(tmp_path / "site.yml")


def test_versions_of_the_plan_are_those_of_the_lock() -> None:
    lock = load_lock().artifacts
    assert {name: lock[name].version for name in ARTIFACTS | RUNNER} == ARTIFACTS | RUNNER


def test_a_node_carries_the_plan_s_network_and_is_the_same_in_every_run(plan: Plan) -> None:
    host = plan.hosts["worker-1"]
    node = documents.node(plan, host, password="secret")  # of this test
    assert node["uuid"] == documents.node(plan, host, password="")["uuid"] != documents.node_id("other", host.name)
    assert node["driver_info"]["redfish_address"] == "https://10.77.1.64"
    # What the host layer converges: a machine begins with the files that it keeps.
    links = host_vars(host)["links"]
    assert node["network_data"]["networkd"] == networkd.files(links, dns=plan.host.dns_servers)
    (text,) = (text for name, text in node["network_data"]["networkd"].items() if name.endswith(".network"))
    assert "PermanentMACAddress=52:54:00:4d:00:01\n" in text
    assert "MTUBytes=1500\n" in text
    assert f"Address={host.address}/24\n" in text
    assert f"Gateway={plan.networks['management'].gateway}\n" in text
    assert {"links", "networks", "services"} <= set(node["network_data"])  # Ironic's schema asks for them


@pytest.mark.parametrize("written", ["System_0", "/redfish/v1/Systems/System_0", "/redfish/v1/Systems/System_0/"])
def test_ironic_is_told_which_system_of_a_controller_is_the_machine(plan: Plan, written: str) -> None:
    host = plan.hosts["worker-1"]
    assert "redfish_system_id" not in documents.node(plan, host, password="")["driver_info"]
    named = replace(host, bmc={**(host.bmc or {}), "system": written})
    told = documents.node(plan, named, password="")["driver_info"]
    assert told["redfish_system_id"] == "/redfish/v1/Systems/System_0"


def test_a_configuration_drive_has_the_token_and_no_password(plan: Plan) -> None:
    host = plan.hosts["worker-1"]
    found = documents.configdrive(plan, host, ca="CA", keys=("ssh-ed25519 A",), home="https://10.77.0.8/v1", token="t")
    assert found["meta_data"]["groundup"]["phone_home"] == {"url": "https://10.77.0.8/v1", "token": "t"}
    assert found["meta_data"]["public_keys"] == {"key-0": "ssh-ed25519 A"}
    assert "password" not in json.dumps(found)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (
            "bmc: {protocol: ipmi}\n    machines: {worker-1: {ports: {management: {mac: '52:54:00:4d:00:01'}}}}",
            "ipmi",
        ),
        ("bmc: {protocol: redfish-virtual-media}", "no MAC address"),
    ],
)
def test_what_this_version_cannot_install_is_a_finding_and_an_error_that_names_it(
    tmp_path: Path, written: str, said: str
) -> None:
    text = SITE.read_text()
    start, end = text.index("    bmc: {"), text.index("hosts:")
    file = tmp_path / "site.yml"
    file.write_text(f"{text[:start]}    {written}\n{text[end:]}")
    plan = make_plan(load_site(file))
    assert [finding.name for finding in plan.findings] == ["not-in-this-version"]
    with pytest.raises(GroundupError, match=said):
        documents.node(plan, plan.hosts["worker-1"], password="")


def test_machines_on_the_network_provisioning_ask_the_seed_where_the_site_file_names_nobody(plan: Plan) -> None:
    seed = ("10.77.2.8",)
    found, worker = plan.hosts["found-1"], plan.hosts["worker-1"]
    assert (found.ntp_servers, found.dns_servers) == (seed, seed)
    assert (worker.ntp_servers, worker.dns_servers) == ((), ()), "it boots from a medium, and has no port there"
    assert (plan.hosts["seed-1"].ntp_servers, plan.hosts["control-1"].dns_servers) == ((), ())


def test_servers_of_the_site_file_are_everybody_s(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("lab-metal", {"hosts/ntp_servers": ["ntp.lab.test"], "hosts/dns_servers": ["10.77.0.53"]})
    assert {(host.ntp_servers, host.dns_servers) for host in plan.hosts.values()} == {((), ())}


def test_a_machine_with_a_port_on_the_network_is_told_of_the_seed_at_its_first_boot(
    plan_of: Callable[..., Plan],
) -> None:
    mac = {"mac": "52:54:00:4d:00:09"}
    plan = plan_of("lab-metal", {"machines/worker/machines/worker-1/ports/provisioning": mac})
    assert plan.hosts["worker-1"].dns_servers == ("10.77.2.8",)
    files = documents.network_data(plan, plan.hosts["worker-1"])["networkd"]
    assert any("DNS=10.77.2.8\n" in text for text in files.values())
