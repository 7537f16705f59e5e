"""What a machine says of itself is a claim: the controller of the machine that it says it is must agree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.controller import Controller
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.match import MachineIdentity, Verdict, match
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.sighting import Sighting
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.platform.metal import to_discover
from ansible_collections.groundup.cloud.tests.unit.metal.inventories import BOOT, OTHER, seen

NAMED = {
    "serial": "{serial: S2}",
    "mac": f"{{ports: {{management: {{mac: '{OTHER.format(2)}'}}}}}}",
    "bmc": "{bmc: {address: 10.77.1.99}}",
}
SECOND = Controller(serial="S2", macs=frozenset((BOOT.format(2), OTHER.format(2))))


def verdict(
    plan: Plan, one: Sighting, controllers: dict[str, Controller], taken: dict[str, MachineIdentity] | None = None
) -> Verdict:
    waiting = [
        host for host in plan.hosts.values() if to_discover(host, plan.networks) and host.name not in (taken or {})
    ]
    return match(plan, waiting, [one], taken or {}, controllers)[one.node]


def claimed(how: str) -> Sighting:
    """Return machine 7, which claims to be found-2."""
    if how == "serial":
        return seen(7, serial="S2")
    if how == "bmc":
        return seen(7, bmc="10.77.1.99")
    nics = [
        {"name": "ens1", "mac_address": BOOT.format(7), "has_carrier": True},
        {"name": "ens2", "mac_address": OTHER.format(2), "has_carrier": True},
    ]
    return seen(7, inventory={"interfaces": nics})


@pytest.mark.parametrize("approve", ["ask", "automatic"])
@pytest.mark.parametrize("how", NAMED)
def test_a_claim_that_the_machines_controller_denies_is_quarantined(site: Any, how: str, approve: str) -> None:
    plan = site(f"approve: {approve}", machines=f"    machines: {{found-2: {NAMED[how]}}}\n")
    denying = Controller(serial="S9", macs=frozenset((BOOT.format(9),)))
    found = verdict(plan, claimed(how), {"found-2": denying})
    assert found.state == "quarantined"
    assert found.card
    assert "found-2" in found.card.what
    assert "S9" in found.card.what


@pytest.mark.parametrize("how", ["serial", "mac"])
def test_a_claim_that_agrees_in_part_is_never_approved_by_itself(site: Any, how: str) -> None:
    plan = site(machines=f"    machines: {{found-2: {NAMED[how]}}}\n")
    found = verdict(plan, claimed(how), {"found-2": SECOND})
    assert found.state != "approved"


@pytest.mark.parametrize("how", NAMED)
def test_a_person_approves_a_named_machine_too_where_the_site_asks(site: Any, how: str) -> None:
    plan = site("approve: ask", machines=f"    machines: {{found-2: {NAMED[how]}}}\n")
    second = seen(2, bmc="10.77.1.99" if how == "bmc" else None)
    for controllers in ({"found-2": SECOND}, {}):
        found = verdict(plan, second, controllers)
        assert (found.state, found.host) == ("matched", "found-2")
        assert found.card
        assert found.card.asks == second.shown


@pytest.mark.parametrize("how", NAMED)
def test_a_machine_whose_controller_agrees_is_approved_where_the_site_does_not_ask(site: Any, how: str) -> None:
    plan = site(machines=f"    machines: {{found-2: {NAMED[how]}}}\n")
    found = verdict(plan, seen(2, bmc="10.77.1.99" if how == "bmc" else None), {"found-2": SECOND})
    assert (found.state, found.host) == ("approved", "found-2")


def test_only_its_controller_says_whose_a_controller_is(site: Any) -> None:
    plan = site(machines=f"    machines: {{found-2: {NAMED['bmc']}}}\n")
    assert verdict(plan, claimed("bmc"), {}).state == "matched", "it waits for a person"


@pytest.mark.parametrize("role", ["control", "seed"])
def test_a_silent_controller_is_no_word_for_a_machine_with_the_keys_of_the_site(site: Any, role: str) -> None:
    plan = site(machines="    machines: {found-2: {serial: S2}}\n")
    host = replace(plan.hosts["found-2"], roles=(role,))
    silent = match(plan, [host], [seen(2)], {}, {})["node-2"]
    agreed = match(plan, [host], [seen(2)], {}, {"found-2": SECOND})["node-2"]
    assert (silent.state, agreed.state) == ("matched", "approved")


@pytest.mark.parametrize("denied", [True, False], ids=["denied", "silent"])
@pytest.mark.parametrize("stored", ["10.77.1.50", ""], ids=["claimed-before", "planned"])
def test_no_machine_gets_the_controller_of_another(site: Any, denied: bool, stored: str) -> None:
    plan = site(machines="    machines: {found-1: {bmc: {address: 10.77.1.50}}}\n")
    first = MachineIdentity(node="n", serial="S1", bmc=stored, macs=(BOOT.format(1),), ports={})
    controllers = {"found-2": Controller(serial="S9", macs=frozenset((BOOT.format(9),)))} if denied else {}
    for written in ("10.77.1.50", " 10.77.1.50 ", "::ffff:10.77.1.50"):
        assert verdict(plan, seen(7, bmc=written), controllers, {"found-1": first}).state == "quarantined"


def test_two_machines_that_name_one_controller_are_both_left_alone(site: Any) -> None:
    plan = site(machines=f"    machines: {{found-2: {NAMED['bmc']}}}\n")
    waiting = [host for host in plan.hosts.values() if to_discover(host, plan.networks)]
    found = match(plan, waiting, [seen(2, bmc="10.77.1.99"), seen(7, bmc="10.77.1.99")], {}, {"found-2": SECOND})
    assert {one.state for one in found.values()} == {"quarantined"}


@pytest.mark.parametrize(
    ("serial", "sku", "macs", "has"),
    [
        ("S2", "", {BOOT.format(2)}, True),
        ("CNIV001", "S2", {BOOT.format(2)}, True),  # Dell: the service tag is the SKU
        ("S2", "", set(), True),
        ("", "", {BOOT.format(2)}, True),
        ("S9", "", {BOOT.format(2)}, None),
        ("S2", "", {BOOT.format(9)}, None),
        ("S9", "", {BOOT.format(9)}, False),
        ("S9", "", set(), False),
        ("", "", {BOOT.format(9)}, False),
        ("", "", set(), None),
    ],
)
def test_serial_and_mac_address_must_not_contradict_each_other(
    serial: str, sku: str, macs: set[str], has: bool | None
) -> None:
    assert Controller(serial=serial, sku=sku, macs=frozenset(macs)).has(seen(2)) is has
