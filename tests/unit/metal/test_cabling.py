"""Bonds of discovered machines: their ports are found by name, and what a machine shows must fit the cabling."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.controller import Controller
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.discovery import MachineDiscovery
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.documents import boot_port, configdrive
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.identity import as_found, identity, identity_file
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.match import MachineIdentity, Verdict, judge, match
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.sighting import Sighting, read
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.tests.unit.metal.inventories import told

MACS = {"eno1": "52:54:00:00:00:01", "ens1f0": "52:54:00:00:01:01", "ens1f1": "52:54:00:00:01:02"}
BOND = "bonds: {bond0: {members: [ens1f0, ens1f1]}}"


def machine(*, boots: str = "eno1", cables: tuple[str, ...] = tuple(MACS), **names: str) -> Sighting:
    """Return a machine with an onboard port and two of a card; ``names``: other names of its ports, "" for none."""
    ports = {names.get(name, name): (name, mac) for name, mac in MACS.items() if names.get(name) != ""}
    nics = [{"name": n, "mac_address": mac, "has_carrier": was in cables} for n, (was, mac) in ports.items()]
    return read({"uuid": "n"}, told(1, inventory={"interfaces": nics, "boot": {"pxe_interface": MACS[boots]}}))


@pytest.fixture
def bonded(site: Any) -> Callable[..., Plan]:
    """Return what plans found-1 with a bond."""

    def plan(networks: str = "{management: bond0}", bonds: str = BOND) -> Plan:
        found: Plan = site(f"approve: automatic\n    wiring: {{{bonds}, networks: {networks}}}")
        assert [one.name for one in found.findings if one.severity == "error"] == []
        return found

    return plan


def verdict(plan: Plan, one: Sighting) -> Verdict:
    own = {"found-1": Controller(macs=frozenset(MACS.values()))}
    return match(plan, [plan.hosts["found-1"]], [one], {}, own)["n"]


def found(plan: Plan, one: Sighting) -> MachineIdentity:
    said = verdict(plan, one)
    assert (said.state, said.host) == ("approved", "found-1"), said.card
    return MachineIdentity(node="n", serial="S1", macs=tuple(sorted(one.macs)), ports=said.ports, nics=said.nics)


def test_a_discovered_machine_has_its_bond_with_the_mac_addresses_of_the_named_ports(bonded: Any) -> None:
    plan = bonded()
    host = found(plan, machine()).of(plan.hosts["found-1"], plan.networks)
    links = {link.name: link for link in host.links}
    assert {name: link.mac for name, link in links.items() if link.kind == "port"} == {
        "ens1f0": MACS["ens1f0"], "ens1f1": MACS["ens1f1"], "prov0": MACS["eno1"],
    }  # fmt: skip
    assert (links["bond0"].mac, links["bond0"].network) == (MACS["ens1f0"], "management")
    assert links["bond0"].address == f"{plan.hosts['found-1'].address}/24"
    assert boot_port(host, plan.networks).mac == MACS["eno1"], "what Ironic knows it by is where it boots"


def test_the_configuration_drive_has_the_bond(bonded: Any) -> None:
    plan = bonded()
    host = found(plan, machine()).of(plan.hosts["found-1"], plan.networks)
    files = configdrive(plan, host, ca="", keys=(), home="", token="")["network_data"]["networkd"]
    assert "Kind=bond" in files["10-groundup-bond0.netdev"]
    assert "MACAddress=52:54:00:00:01:01" in files["10-groundup-bond0.netdev"]
    member = files["10-groundup-ens1f1.network"]
    assert "PermanentMACAddress=52:54:00:00:01:02" in member
    assert "Bond=bond0" in member


def test_a_machine_may_boot_from_a_port_of_its_bond_where_the_cabling_says_so(bonded: Any) -> None:
    plan = bonded("{management: eno1, provisioning: bond0}")
    who = found(plan, machine(boots="ens1f1"))
    assert who.ports == {"provisioning": MACS["ens1f1"]}
    links = {link.name: link for link in who.of(plan.hosts["found-1"], plan.networks).links}
    assert (links["bond0"].network, links["bond0"].mac) == ("provisioning", MACS["ens1f0"])
    assert (links["eno1"].network, links["eno1"].mac, links["eno1"].rename) == ("management", MACS["eno1"], True)


def test_a_machine_without_a_port_of_its_bond_is_refused_with_machine_bond_port_and_what_it_has(bonded: Any) -> None:
    plan = bonded()
    one = machine(ens1f1="enp9s0")
    card = judge(plan, plan.hosts["found-1"], one)
    assert card
    assert "no port ens1f1 of bond0" in card.what
    assert "enp9s0 52:54:00:00:01:02" in card.what
    said = verdict(plan, replace(one, approved="found-1"))
    assert said.state == "quarantined"
    assert said.card
    assert "found-1" in said.card.what
    assert "no port ens1f1 of bond0" in said.card.what
    unnamed = verdict(plan, one).card
    assert unnamed
    assert "compared with found-1" in unnamed.what
    assert "no port ens1f1 of bond0" in unnamed.what


@pytest.mark.parametrize(
    ("networks", "more", "said"),
    [
        ("{management: bond0}", {"boots": "ens1f0"}, "a port of bond0 (ens1f0, ens1f1)"),
        ("{management: eno1, provisioning: bond0}", {}, "has the provisioning network on bond0 (ens1f0, ens1f1)"),
        ("{management: bond0}", {"cables": ("eno1",)}, "no port of bond0 (ens1f0, ens1f1) has a cable"),
    ],
)
def test_a_machine_whose_cables_contradict_its_cabling_is_left_alone(
    bonded: Any, networks: str, more: dict[str, Any], said: str
) -> None:
    card = verdict(bonded(networks), machine(**more)).card
    assert card
    assert said in card.what
    assert "found-1" in card.what


def test_one_cable_of_a_bond_is_enough(bonded: Any) -> None:
    assert found(bonded(), machine(cables=("eno1", "ens1f1"))).nics["ens1f0"] == MACS["ens1f0"]


def test_two_ports_of_one_name_are_none(bonded: Any) -> None:
    nics = [{"name": "ens1f0", "mac_address": mac, "has_carrier": True} for mac in MACS.values()]
    one = read({"uuid": "n"}, told(1, inventory={"interfaces": nics, "boot": {"pxe_interface": MACS["eno1"]}}))
    card = verdict(bonded(), one).card
    assert card
    assert "3 ports ens1f0 of bond0" in card.what


def test_written_ports_of_a_bond_are_compared_before_anything_is_written(site: Any) -> None:
    macs = {**MACS, "ens1f1": "52:54:00:00:09:09"}
    machines = f"""    wiring: {{{BOND}, networks: {{management: bond0}}}}
    machines:
      found-1: {{mac: "{macs["eno1"]}", nics: {{ens1f0: "{macs["ens1f0"]}", ens1f1: "{macs["ens1f1"]}"}}}}
"""
    plan: Plan = site(machines=machines)
    card = judge(plan, plan.hosts["found-1"], machine())
    assert card
    assert "no port ens1f1 of bond0 with 52:54:00:00:09:09" in card.what


def test_hosts_know_the_ports_that_were_found_and_have_no_links_before(bonded: Any, tmp_path: Path) -> None:
    plan = bonded()
    host = plan.hosts["found-1"]
    assert as_found(tmp_path, host, plan.networks).links == ()
    identity_file(tmp_path, "found-1").write_text(json.dumps(asdict(found(plan, machine()))))
    assert identity(tmp_path, "found-1") == found(plan, machine())
    assert {link.mac for link in as_found(tmp_path, host, plan.networks).links} == set(MACS.values())


def test_cabling_that_left_the_site_file_takes_no_host_off_its_network(bonded: Any, site: Any, tmp_path: Path) -> None:
    identity_file(tmp_path, "found-1").write_text(json.dumps(asdict(found(bonded(), machine()))))
    plan = site()
    host = plan.hosts["found-1"]
    assert as_found(tmp_path, host, plan.networks).links == (), "nothing is managed"

    class Seed:
        def now(self, _node: str) -> None:
            return None

    found_again = MachineDiscovery(
        ironic=Seed(), plan=plan, home=tmp_path, say=print, seconds=0, password=str  # type: ignore[arg-type]
    )  # fmt: skip
    with pytest.raises(GroundupError, match="nothing says which port of found-1") as caught:
        found_again.identified(host)
    assert "machines.found.wiring" in str(caught.value)
