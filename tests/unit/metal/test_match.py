"""Discovered machines: who is which machine of the site, and who is nobody."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.controller import Controller
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.match import MachineIdentity, judge, match
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.sighting import Sighting, read
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.platform.metal import to_discover
from ansible_collections.groundup.cloud.tests.unit.metal.inventories import BOOT, OTHER, USED, seen, told

OF = {f"found-{n}": Controller(macs=frozenset((BOOT.format(n),))) for n in (1, 2)}


def verdicts(
    plan: Plan,
    *machines: Sighting,
    taken: dict[str, MachineIdentity] | None = None,
    controllers: dict[str, Controller] = OF,
) -> dict[str, tuple[str, str]]:
    waiting = [
        host for host in plan.hosts.values() if to_discover(host, plan.networks) and host.name not in (taken or {})
    ]
    found = match(plan, waiting, machines, taken or {}, controllers)
    assert set(found) == {one.node for one in machines}, "each has one verdict"
    return {node: (verdict.state, verdict.host) for node, verdict in found.items()}


def test_a_machine_that_fits_is_approved_by_itself_or_waits_for_somebody(site: Any) -> None:
    assert verdicts(site(), seen(1)) == {"node-1": ("approved", "found-1")}
    assert verdicts(site("approve: ask"), seen(1)) == {"node-1": ("matched", "found-1")}
    approved = verdicts(site("approve: ask"), seen(1, approved="found-2"), controllers={})
    assert approved == {"node-1": ("approved", "found-2")}


def test_each_port_is_found_by_where_its_cable_ends(site: Any) -> None:
    plan = site()
    found = match(plan, [plan.hosts["found-1"]], [seen(1)], {})["node-1"]
    assert found.ports == {"provisioning": BOOT.format(1), "management": OTHER.format(1)}
    who = MachineIdentity(node="n", serial="S1", bmc="", macs=(), ports=found.ports).of(
        plan.hosts["found-1"], plan.networks
    )
    assert {port.network: port.mac for port in who.interfaces} == found.ports
    assert who.bmc == plan.hosts["found-1"].bmc
    links = {link.network: (link.mac, link.address) for link in who.links}
    assert links == {port.network: (port.mac, f"{port.address}/{port.prefix}") for port in who.interfaces}
    assert [link.routes for link in who.links if link.routes] == [(("0.0.0.0/0", "10.77.0.1"),)], "one way out"


def test_ports_that_cannot_be_told_apart_are_asked_for(site: Any) -> None:
    plan = site()
    third = {"name": "ens3", "mac_address": "52:54:00:00:02:01", "has_carrier": True}
    one = read({"uuid": "n"}, told(1, inventory={"interfaces": [*told(1)["inventory"]["interfaces"], third]}))
    verdict = match(plan, [plan.hosts["found-1"]], [one], {})["n"]
    assert (verdict.state, verdict.host) == ("quarantined", "found-1")
    assert verdict.card
    assert "2 of its ports have a cable" in verdict.card.what
    assert "ports.<network>.mac" in verdict.card.remedy


@pytest.mark.parametrize(
    "written",
    ["{serial: S2}", "{ports: {management: {mac: '52:54:00:00:01:02'}}}", "{bmc: {address: 10.77.1.99}}"],
    ids=["serial", "mac", "bmc"],
)
def test_a_machine_is_the_one_that_the_site_file_names_and_is_approved_as_any_other(site: Any, written: str) -> None:
    for approve, state in (("ask", "matched"), ("automatic", "approved")):
        plan = site(f"approve: {approve}", machines=f"    machines: {{found-2: {written}}}\n")
        assert verdicts(plan, seen(1), seen(2, bmc="10.77.1.99" if "bmc" in written else None)) == {
            "node-1": (state, "found-1"),
            "node-2": (state, "found-2"),
        }


def test_what_fits_nothing_is_quarantined_with_what_it_lacks(site: Any) -> None:
    plan = site()
    found = match(plan, [plan.hosts["found-1"]], [seen(1, gib=2, memory=512)], {})["node-1"]
    assert found.state == "quarantined"
    assert found.card
    assert found.card.what == "it has 0.5 of 2 GiB of memory, no disk of 4 GiB; compared with found-1"
    assert verdicts(plan, seen(1), seen(2), seen(3)) == {
        "node-1": ("approved", "found-1"),
        "node-2": ("approved", "found-2"),
        "node-3": ("quarantined", ""),
    }


def test_used_disks_are_written_over_with_approval_alone_however_the_machine_was_matched(site: Any) -> None:
    plan = site(machines="    machines: {found-2: {serial: S2}}\n")
    used: dict[str, Any] = {"groundup_disks": [USED]}
    assert verdicts(plan, seen(1, **used), seen(2, **used)) == {
        "node-1": ("matched", "found-1"),
        "node-2": ("matched", "found-2"),
    }
    card = match(plan, [plan.hosts["found-1"]], [seen(1, **used)], {})["node-1"].card
    assert card
    assert "vda: gpt with 1 partitions, ntfs C" in card.what
    assert "approve_machine=found-1" in card.remedy
    assert verdicts(plan, seen(1, approved="found-1", **used)) == {"node-1": ("approved", "found-1")}


@pytest.mark.parametrize("same", ["serial", "mac"])
def test_two_machines_of_one_identity_are_both_left_alone(site: Any, same: str) -> None:
    more: dict[str, Any] = (
        {"serial": "S1"} if same == "serial" else {"inventory": {"interfaces": told(1)["inventory"]["interfaces"]}}
    )
    assert {state for state, _ in verdicts(site(), seen(1), seen(2, **more)).values()} == {"quarantined"}


def test_a_machine_that_says_it_is_one_that_was_found_is_left_alone(site: Any) -> None:
    who = MachineIdentity(node="old", serial="S1", bmc="", macs=(BOOT.format(9),), ports={})
    plan = site()
    assert verdicts(plan, seen(1), taken={"found-1": who}) == {"node-1": ("quarantined", "")}
    assert verdicts(plan, seen(9), taken={"found-1": who}) == {"node-9": ("quarantined", "")}
    assert verdicts(plan, seen(2), taken={"found-1": who}) == {"node-2": ("approved", "found-2")}


def test_a_machine_that_says_it_is_a_pre_registered_one_is_left_alone(site: Any) -> None:
    plan = site()
    mac = next(port.mac for port in plan.hosts["worker-1"].interfaces if port.mac)
    nics = [*told(1)["inventory"]["interfaces"], {"name": "x", "mac_address": mac.upper()}]
    assert verdicts(plan, seen(1, inventory={"interfaces": nics})) == {"node-1": ("quarantined", "")}


def test_whose_controller_is_not_known_is_not_told_apart_from_another(site: Any) -> None:
    plan = site()
    assert verdicts(plan, seen(1), seen(2), controllers={}) == {
        "node-1": ("quarantined", ""),
        "node-2": ("quarantined", ""),
    }
    swapped = {"found-1": OF["found-2"], "found-2": Controller(serial="S1")}
    assert verdicts(plan, seen(1), seen(2), controllers=swapped) == {
        "node-1": ("approved", "found-2"),
        "node-2": ("approved", "found-1"),
    }


def test_ten_that_come_at_once_are_listed_once_each(site: Any) -> None:
    found = verdicts(site(), *(seen(number) for number in range(1, 11)))
    assert len(found) == 10
    assert sorted(state for state, _ in found.values()) == ["approved"] * 2 + ["quarantined"] * 8


def test_the_smallest_that_fits_is_taken_in_whatever_order_they_come(site: Any) -> None:
    plan, large, small = site(), seen(1, memory=65536, cores=64), seen(2)
    for order in ((large, small), (small, large)):
        found = match(plan, [plan.hosts["found-1"]], order, {})
        assert found["node-2"].host == "found-1"


def test_a_pre_registered_machine_is_held_to_its_ports_disks_and_serial(site: Any) -> None:
    plan = site()
    host = plan.hosts["worker-1"]
    mac = next(port.mac for port in host.interfaces if port.mac)
    right = seen(1, inventory={"interfaces": [{"name": "x", "mac_address": mac}]})
    assert judge(plan, host, right) is None
    card = judge(plan, host, seen(2, gib=1))
    assert card
    assert "no disk of 4 GiB" in card.what
    assert f"no port {mac} (management)" in card.what
    used = seen(1, inventory={"interfaces": [{"name": "x", "mac_address": mac}]}, groundup_disks=[USED])
    assert (judge(plan, host, used) or card).what.startswith("its disks are in use")


@pytest.mark.parametrize(
    "garbage",
    [{}, {"inventory": []}, {"inventory": {"interfaces": []}}, {"inventory": {"interfaces": "x"}}, {"inventory": None}],
)
def test_an_inventory_that_is_none_is_said_to_be(garbage: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="its inventory is none"):
        read({"uuid": "n"}, garbage)


@pytest.mark.parametrize("number", [1e999, 10**400, -1, "x"], ids=["infinite", "long", "negative", "word"])
@pytest.mark.parametrize("field", ["memory", "cores", "size", "speed"])
def test_a_number_without_measure_is_garbage_and_stops_no_other_machine(field: str, number: Any) -> None:
    more = {"inventory": {"disks": [{"name": "vda", "size": number}]}} if field == "size" else {field: number}
    if field == "speed" and not (isinstance(number, int) and number > 0):
        assert seen(1, **more).nics[0].gbps is None, "a port without a cable has no speed"
        return
    with pytest.raises(ValueError, match="its inventory is none"):
        seen(1, **more)


@pytest.mark.parametrize("disks", [None, [], [{"name": "sda", "type": "disk"}]])
def test_a_disk_of_which_nobody_told_what_is_on_it_is_written_over_with_approval_alone(site: Any, disks: Any) -> None:
    one = seen(1, groundup_disks=disks)
    assert one.used == "vda: nobody told what is on it"
    assert verdicts(site(), one) == {"node-1": ("matched", "found-1")}
    assert verdicts(site(), seen(1, approved="found-1", groundup_disks=disks)) == {"node-1": ("approved", "found-1")}


def test_what_firmwares_say_for_no_serial_number_is_none() -> None:
    assert seen(1, serial="To Be Filled By O.E.M.").serial == ""
    assert seen(1, serial=None).serial == ""
    assert seen(1, serial=" 4C4C  4544 ").serial == "4C4C 4544"


@pytest.mark.parametrize("word", ["../../../etc/cron", "52:54:00:00:00:0g", "", "52:54:00:00:00:01/.."])
def test_an_address_that_is_none_is_garbage_and_names_no_file(word: str) -> None:
    nics = [{"name": "ens1", "mac_address": word, "has_carrier": True}]
    asked = [{"interfaces": nics, "boot": {}}] + ([{"boot": {"pxe_interface": word}}] if word else [])
    for inventory in asked:
        with pytest.raises(ValueError, match="its inventory is none"):
            read({"uuid": "n"}, told(1, inventory=inventory))


@pytest.mark.parametrize("address", ["203.0.113.9", "2001:db8::9", "evil.example.org"])
def test_no_password_is_sent_where_a_machine_says_that_its_controller_is(site: Any, address: str) -> None:
    plan = site()
    verdict = match(plan, [plan.hosts["found-1"]], [seen(1, bmc=address)], {})["node-1"]
    assert verdict.state == "quarantined"
    assert verdict.card
    assert address in verdict.card.what
    inside = plan.networks["oob"].cidr.replace("0/24", "77")
    assert verdicts(plan, seen(1, bmc=inside)) == {"node-1": ("approved", "found-1")}


def test_what_a_machine_says_tells_a_terminal_nothing() -> None:
    disk = {"name": "vda", "pttype": "gpt", "children": [{"name": "vda1", "label": "\x1b[2J"}]}
    one = seen(1, serial="S\x1b[31m", groundup_disks=[disk])
    assert (one.serial, one.used) == ("S\\x1b[31m", "vda: gpt with 1 partitions, \\x1b[2J")
