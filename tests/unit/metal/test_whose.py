"""Who a machine is: what its controller confirms, and what tells machines apart at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.cards import not_its_own
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.controller import Controller, ask
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.match import MachineIdentity, Verdict, judge, match
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.sighting import Sighting
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.platform.metal import to_discover
from ansible_collections.groundup.cloud.tests.unit.metal.inventories import BOOT, OTHER, seen, told

SERIAL = "    machines: {found-2: {serial: S2}}\n"
MAC = "    machines: {found-2: {ports: {management: {mac: '52:54:00:00:01:02'}}}}\n"
USB = "be:3a:f2:b6:05:9f"
OWN = {f"found-{n}": Controller(serial=f"S{n}", macs=frozenset((BOOT.format(n),))) for n in (1, 2)}


def verdicts(
    plan: Plan, *machines: Sighting, taken: dict[str, MachineIdentity] | None = None,
    controllers: dict[str, Controller] | None = None,
) -> dict[str, Verdict]:  # fmt: skip
    waiting = [one for one in plan.hosts.values() if to_discover(one, plan.networks) and one.name not in (taken or {})]
    return match(plan, waiting, machines, taken or {}, controllers or {})


def trusted(plan: Plan, name: str, role: str) -> Plan:
    """Give a machine of the plan another role."""
    object.__setattr__(plan.hosts[name], "roles", (role,))
    return plan


@pytest.mark.parametrize("written", [SERIAL, MAC], ids=["serial", "mac"])
@pytest.mark.parametrize("ask_", ["approve: ask", "approve: automatic"])
@pytest.mark.parametrize(
    ("says", "state"),
    [
        ({"macs": frozenset((BOOT.format(9),))}, "quarantined"),
        ({"serial": "S9"}, "quarantined"),
        ({"serial": "S9", "macs": frozenset((BOOT.format(9),))}, "quarantined"),
        ({"serial": "S9", "macs": frozenset((BOOT.format(2),))}, "matched"),
        ({"serial": "S2", "macs": frozenset((BOOT.format(9),))}, "matched"),
    ],
    ids=["other ports", "other serial", "other machine", "other serial, its port", "its serial, other ports"],
)
def test_a_machine_that_claims_to_be_one_whose_controller_says_otherwise_is_not_approved(
    site: Any, written: str, ask_: str, says: dict[str, Any], state: str
) -> None:
    verdict = verdicts(site(ask_, machines=written), seen(2), controllers={"found-2": Controller(**says)})["node-2"]
    assert (verdict.state, verdict.host) == (state, "found-2"), "what agrees in part may be approved by a person"
    assert verdict.card
    if state == "quarantined":
        assert "of found-2 has another machine" in verdict.card.what
        assert "this one has serial S2" in verdict.card.what


def test_one_of_two_serial_numbers_of_a_firmware_is_approved_where_a_port_agrees(site: Any) -> None:
    plan = site(machines=SERIAL)
    controllers = {"found-2": Controller(serial="CZ34A9", macs=frozenset((BOOT.format(2),)))}
    card = verdicts(plan, seen(2), controllers=controllers)["node-2"].card
    assert card
    assert card.asks == seen(2).shown
    assert "approve_machine=found-2" in card.remedy
    approved = seen(2, approved="found-2")
    assert verdicts(plan, approved, controllers=controllers)["node-2"].state == "approved"
    assert judge(plan, plan.hosts["found-2"], approved, controllers["found-2"]) is None
    assert verdicts(plan, seen(2), controllers={**controllers, "found-1": Controller(serial="S2")})["node-2"].state == (
        "quarantined"
    ), "its serial number is that of a third one"
    other = Controller(serial="CZ34A9", macs=frozenset((BOOT.format(9),)))
    assert judge(plan, plan.hosts["found-2"], approved, other), "approved, and still not that controller's machine"


def test_a_refusal_names_host_controller_and_what_both_say(site: Any) -> None:
    plan = site(machines=SERIAL)
    card = verdicts(plan, seen(2), controllers={"found-2": Controller(serial="S9")})["node-2"].card
    assert card
    for word in ("found-2", str((plan.hosts["found-2"].bmc or {})["address"]), "serial S9", "serial S2"):
        assert word in card.what
    assert "machines.found.machines.found-2.bmc.address" in card.remedy


@pytest.mark.parametrize("serial", ["", "To be filled by O.E.M."])
def test_a_sku_that_is_a_model_denies_no_machine(site: Any, serial: str) -> None:
    own = Controller(serial=serial, sku="P19766-B21")
    assert own.has(seen(2)) is None
    assert replace(own, macs=frozenset((BOOT.format(2),))).has(seen(2))
    assert not_its_own(site(machines=SERIAL), site(machines=SERIAL).hosts["found-2"], own, {}) is None


def test_the_number_on_the_label_may_be_the_controllers_sku(site: Any) -> None:
    plan, dell = site(machines=SERIAL), Controller(serial="CN7475141A0123", sku="s2")
    assert verdicts(plan, seen(2), controllers={"found-2": dell})["node-2"].state == "approved"


def test_a_controller_of_a_found_or_a_written_machine_is_not_believed_to_be_anothers(site: Any) -> None:
    plan = site()
    planned = str((plan.hosts["worker-1"].bmc or {})["address"])
    who = MachineIdentity(node="old", serial="S7", bmc="10.77.1.50", macs=(), ports={})
    first = str((plan.hosts["found-1"].bmc or {})["address"])
    for claimed in ("10.77.1.50", first, planned):
        found = verdicts(plan, seen(3, bmc=claimed), taken={"found-1": who})["node-3"]
        assert (found.state, found.host) == ("quarantined", ""), claimed
        assert found.card
        assert f"its management controller is {claimed}, which is the one of" in found.card.what
    named = verdicts(site(machines=SERIAL), seen(2, bmc=first))["node-2"]
    assert named.state == "quarantined", "of one that is waited for"


def test_a_machines_word_on_its_controller_counts_where_that_one_confirms_it(site: Any) -> None:
    plan = site()
    planned = str((plan.hosts["found-2"].bmc or {})["address"])
    assert verdicts(plan, seen(1, bmc=planned))["node-1"].state == "matched", "nobody confirms it"
    assert verdicts(plan, seen(1, bmc="10.77.1.77"))["node-1"].state == "quarantined"
    found = verdicts(plan, seen(2, bmc=planned), controllers=OWN)["node-2"]
    assert (found.state, found.host, found.why) == ("approved", "found-2", f"by its management controller {planned}")


def test_a_machine_that_another_ones_controller_has_is_not_switched_by_a_silent_one(site: Any) -> None:
    controllers = {"found-1": Controller(macs=frozenset((BOOT.format(2),)))}
    found = verdicts(site(machines=SERIAL), seen(2), controllers=controllers)["node-2"]
    assert found.state == "quarantined"
    assert found.card
    assert "its management controller is that of found-1" in found.card.what


def test_controllers_that_say_the_same_confirm_nobody(site: Any) -> None:
    one = Controller(serial="S2", macs=frozenset((BOOT.format(2),)))
    found = verdicts(site(machines=SERIAL), seen(2), controllers={"found-1": one, "found-2": one})["node-2"]
    assert found.state == "quarantined", "two names lead to one controller"
    filler = Controller(serial="To be filled by O.E.M.")
    found = verdicts(site(machines=SERIAL), seen(2), controllers={"found-1": filler, "found-2": filler})["node-2"]
    assert found.state == "approved", "a filler says nothing"


def test_no_power_is_asked_of_a_controller_that_is_another_machines(site: Any) -> None:
    plan = site(machines=SERIAL)
    host, known = plan.hosts["found-2"], {"found-1": ("S1", BOOT.format(1), USB), "found-2": ("", USB)}
    for own in (Controller(serial="s1"), Controller(macs=frozenset((BOOT.format(1),))), Controller(serial="S9")):
        assert not_its_own(plan, host, own, known), own
    written = next(port.mac for port in plan.hosts["worker-1"].interfaces if port.mac)
    assert not_its_own(plan, host, Controller(macs=frozenset((written,))), {})
    for own in (Controller(), Controller(serial="S2"), Controller(macs=frozenset((USB, BOOT.format(2))))):
        assert not_its_own(plan, host, own, known) is None, own
    several = Controller(several=("/redfish/v1/Systems/A", "/redfish/v1/Systems/B"))
    card = not_its_own(plan, host, several, {})
    assert card
    assert "bmc.system" in card.remedy


def rack(number: int, *, usb: str = USB, **more: Any) -> dict[str, Any]:
    """Return a server's inventory: two ports, and the one that its controller shows it."""
    nics = [
        {"name": f"eno{n}", "mac_address": f"3c:ec:ef:1{n - 1}:00:0{number}", "has_carrier": True, "vendor": "0x15b3"}
        for n in (1, 2)
    ]
    odd = {"name": "enxbe3af2b6059f", "mac_address": usb, "has_carrier": True, "vendor": None, **more}
    return {
        "interfaces": [odd, *nics],
        "boot": {"pxe_interface": nics[0]["mac_address"]},
        "system_vendor": {"serial_number": f"S000000{number}"},
    }


@pytest.mark.parametrize(
    "odd",
    [
        {"ipv4_address": "169.254.3.1"},
        {"vendor": "0x15b3", "ipv4_address": "169.254.3.1"},
        {"usb": "3c:ec:ef:99:99:99"},
        {"vendor": "0x15b3", "driver": "cdc_ether"},
        {"vendor": "0x15b3", "usb": "00:00:00:00:00:00"},
        {"vendor": "0x15b3", "usb": "01:00:5e:00:00:01"},
        {"vendor": "0x15b3", "usb": "3c:ec:ef:99:99:99"},
    ],
    ids=["usb", "link-local", "no vendor", "driver", "zero", "group", "repeated"],
)
def test_a_port_that_tells_no_machines_apart_is_no_identity_and_has_no_network(site: Any, odd: dict[str, Any]) -> None:
    plan = site()
    both = [seen(number, inventory=rack(number, **odd)) for number in (1, 2)]
    own = {f"found-{n}": Controller(serial=f"S000000{n}", macs=frozenset((USB,))) for n in (1, 2)}
    found = verdicts(plan, *both, controllers=own)
    assert {node: (verdict.state, verdict.host) for node, verdict in found.items()} == {
        "node-1": ("approved", "found-1"),
        "node-2": ("approved", "found-2"),
    }
    assert found["node-2"].ports == {"provisioning": "3c:ec:ef:10:00:02", "management": "3c:ec:ef:11:00:02"}


def test_a_locally_administered_port_of_a_pci_device_is_one(site: Any) -> None:
    nics = [{**one, "vendor": "0x1af4"} for one in told(1)["inventory"]["interfaces"]]
    assert verdicts(site(), seen(1, inventory={"interfaces": nics}), controllers=OWN)["node-1"].state == "approved"


def test_a_machine_with_such_ports_alone_is_left_alone_and_told_why(site: Any) -> None:
    nics = [{**one, "vendor": None} for one in told(1)["inventory"]["interfaces"]]
    card = verdicts(site(), seen(1, inventory={"interfaces": nics}))["node-1"].card
    assert card
    assert "0 of 2 network ports, and ens1 (no PCI device, and a MAC address of no vendor)" in card.what


def test_a_serial_number_that_two_machines_have_is_neithers_identity(site: Any) -> None:
    plan = site(machines="    machines: {found-1: {serial: S1}}\n")
    for other in ("S1", "s1"):
        found = verdicts(plan, seen(1), seen(2, serial=other))
        assert {verdict.state for verdict in found.values()} == {"quarantined"}
    ports = "found-{0}: {{ports: {{management: {{mac: '52:54:00:00:01:0{0}'}}}}}}"
    both = site(machines=f"    machines: {{{ports.format(1)}, {ports.format(2)}}}\n")
    found = verdicts(both, seen(1), seen(2, serial="S1"))
    assert [(verdict.state, verdict.host) for verdict in found.values()] == [
        ("approved", "found-1"),
        ("approved", "found-2"),
    ]


def test_a_port_of_the_site_file_that_tells_no_machines_apart_is_named(site: Any) -> None:
    plan = site(machines=f"    machines: {{found-2: {{ports: {{management: {{mac: '{USB}'}}}}}}}}\n")
    for more, why in (({}, "no PCI device, and a MAC address of no vendor"), ({"driver": "rndis_host"}, "USB")):
        (found,) = verdicts(plan, seen(2, inventory=rack(2, **more))).values()
        assert found.card
        assert f"the site file has {USB} for found-2, which is its enxbe3af2b6059f ({why})" in found.card.what
        assert "another port of found-2" in found.card.remedy


def test_a_machine_that_boots_from_a_usb_port_is_told_so(site: Any) -> None:
    inventory = rack(2) | {"boot": {"pxe_interface": USB}, "system_vendor": {"serial_number": "S2"}}
    card = verdicts(site(machines=SERIAL), seen(2, inventory=inventory))["node-2"].card
    assert card
    assert f"it boots from {USB}, which has no network: no PCI device" in card.what


def test_a_machine_of_two_names_is_left_alone(site: Any) -> None:
    first = "found-1: {ports: {management: {mac: '52:54:00:00:01:01'}}}"
    plan = site(machines=f"    machines: {{{first}, found-2: {{serial: S2}}}}\n")
    assert verdicts(plan, seen(1, serial="S2"))["node-1"].state == "quarantined"
    named = site(machines=f"    machines: {{{first[:-1]}, serial: S7}}}}\n")
    card = verdicts(named, seen(1))["node-1"].card
    assert card
    assert "serial S1, not S7" in card.what


def test_a_machine_whose_number_no_controller_says_is_told_which_are_known(site: Any) -> None:
    controllers = {f"found-{n}": Controller(serial=f"CN747{n}", sku=f"7XKJ{n}Z2") for n in (1, 2)}
    card = verdicts(site(), seen(1), controllers=controllers)["node-1"].card
    assert card
    assert "found-1: serial CN7471, SKU 7XKJ1Z2, found-2: serial CN7472" in card.what
    card = verdicts(site(machines=SERIAL), seen(1), seen(3), controllers={"found-1": OWN["found-1"]})["node-3"].card
    assert card
    assert "found-2: serial S2 in the site file" in card.what


def test_a_controller_is_asked_for_the_machine_that_the_site_file_names(site: Any) -> None:
    plan, asked = site(machines="    machines: {found-2: {serial: S2, bmc: {system: System_0}}}\n"), list[Any]()

    class Seed:
        def controller(self, **given: str) -> dict[str, Any]:
            asked.append(given)
            return {"serial": "S2", "macs": [OTHER.format(2)], "system": "/redfish/v1/Systems/System_0"}

    seed: Any = Seed()
    assert ask(seed, plan.hosts["found-2"], "p").system == "/redfish/v1/Systems/System_0"
    assert (asked[0]["serial"], asked[0]["system"]) == ("S2", "System_0")


def test_a_machine_whose_boot_port_is_written_waits_after_its_inspection_where_no_controller_confirms_it(
    site: Any,
) -> None:
    machine = "    machines: {found-2: {ports: {provisioning: {mac: '52:54:00:00:00:02'}}}}\n"
    plan = site("approve: ask", machines=machine)
    host = plan.hosts["found-2"]
    assert not to_discover(host, plan.networks)
    card = judge(plan, host, seen(2))
    assert card
    assert card.asks == seen(2).shown
    assert judge(plan, host, seen(2), OWN["found-2"]) is None
    assert judge(plan, host, seen(2, approved="found-2")) is None
    free = site("approve: automatic", machines=machine)
    assert judge(free, free.hosts["found-2"], seen(2)) is None
    denied = judge(plan, host, seen(2), Controller(macs=frozenset((BOOT.format(9),))))
    assert denied
    assert (denied.asks, "has another machine" in denied.what) == ("", True)
    assert judge(trusted(plan, "found-2", "control"), host, seen(2), OWN["found-2"]), "a control host"
