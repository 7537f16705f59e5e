"""The address plan is stable: who has an address keeps it, whoever comes or goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan


def addresses(plan: Plan) -> dict[str, tuple[str | None, ...]]:
    """Return every host's addresses, network by network."""
    return {host.name: tuple(port.address for port in host.interfaces) for host in plan.hosts.values()}


@pytest.mark.parametrize(
    "changes",
    [
        {"machines/control/count": 9},
        {"machines/storage/count": 30},
        {"machines/hypervisor/per_rack": 64},
        {"machines/seed/count": 2},
        {"machines/aaa": {"roles": ["worker"], "count": 20}},
        {"racks/r9": {}, "machines/hypervisor/racks": ["r9", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8"]},
    ],
)
def test_adding_machines_moves_nobody(plan_of: Callable[..., Plan], changes: dict[str, Any]) -> None:
    before, after = addresses(plan_of("region")), addresses(plan_of("region", changes))
    assert len(after) > len(before)
    assert {name: after[name] for name in before} == before


def test_a_named_machine_put_first_moves_nobody(plan_of: Callable[..., Plan]) -> None:
    before = addresses(plan_of("lab", {"machines/worker": {"names": ["w-3", "w-7"]}}))
    after = addresses(plan_of("lab", {"machines/worker": {"names": ["w-1", "w-[3:5]", "w-7"]}}))
    assert {name: after[name] for name in before} == before


def test_the_same_place_on_every_network(plan_of: Callable[..., Plan]) -> None:
    host = plan_of("region").hosts["hypervisor-r3-7"]
    last = {(port.address or "10.96.0.0").split(".", 2)[2] for port in host.interfaces if port.network == "storage"}
    assert host.address == "10.96.10.135"  # second half of 10.96.8.0/22, third block of 64, offset 1, seventh
    assert last == {"18.135"}
    assert host.bmc is not None
    assert host.bmc["address"] == "10.96.2.135"


def test_the_lab_addresses_other_parts_rely_on(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("lab")
    assert {name: host.address for name, host in plan.hosts.items()} == {
        "seed-1": "10.90.0.8",
        "control-1": "10.90.0.16",
        "worker-1": "10.90.0.64",
        "worker-2": "10.90.0.65",
    }
    assert plan.networks["management"].gateway == "10.90.0.1"
    assert plan.edge.address == "10.90.0.2"
    assert [port.name for port in plan.hosts["control-1"].interfaces] == ["mgmt0"]


def test_a_written_address_is_kept_and_moves_nobody(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("lab", {"machines/worker/machines": {"worker-1": {"address": "10.90.0.200"}}})
    assert plan.hosts["worker-1"].address == "10.90.0.200"
    assert plan.hosts["worker-2"].address == "10.90.0.65"


def test_a_full_range_leaves_machines_without_an_address_and_says_so(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("lab", {"machines/control/count": 18})
    assert plan.hosts["control-16"].address == "10.90.0.31"
    assert plan.hosts["control-17"].address == ""
    (finding,) = [finding for finding in plan.findings if finding.name == "address-range-full"]
    assert "control-17 and 1 more" in finding.what
    assert "10.90.0.16-10.90.0.31" in finding.what


def test_ranges_of_the_site_are_used(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("lab", {"networks/management/ranges": {"worker": "10.90.0.100-10.90.0.101"}})
    assert [plan.hosts[f"worker-{n}"].address for n in (1, 2)] == ["10.90.0.100", "10.90.0.101"]


def test_hypervisors_are_on_the_provider_network_without_an_address_and_control_hosts_are_not(
    plan_of: Callable[..., Plan],
) -> None:
    plan = plan_of("region")
    ports = {port.network: port for port in plan.hosts["hypervisor-r1-1"].interfaces}
    assert ports["provider"].address is None
    assert "provider" not in {port.network for port in plan.hosts["control-1"].interfaces}
    assert ports["storage"].mtu == 9000


def test_a_mac_is_of_the_port_that_boots(plan_of: Callable[..., Plan]) -> None:
    mac = "52-54-00-AA-BB-CC"
    region = plan_of("region", {"machines/control/machines": {"control-2": {"mac": mac}}})
    assert {p.network: p.mac for p in region.hosts["control-2"].interfaces}["provisioning"] == "52:54:00:aa:bb:cc"
    lab = plan_of("lab", {"machines/control/machines": {"control-1": {"mac": mac}}})
    assert lab.hosts["control-1"].interfaces[0].mac == "52:54:00:aa:bb:cc"
