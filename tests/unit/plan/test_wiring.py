"""Links of a host whose network the site manages: what follows from cabling, VLANs, MTUs and racks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.serial import host_vars
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import LinkPlan

MACS = ("52:54:00:4d:00:01", "52:54:00:4d:00:02")
DEFAULT = (("0.0.0.0/0", "10.77.0.1"),)


def links(plan: Plan, host: str = "worker-1") -> dict[str, LinkPlan]:
    return {link.name: link for link in plan.hosts[host].links}


def test_a_site_that_makes_its_hosts_itself_has_no_links(plan_of: Callable[..., Plan]) -> None:
    assert all(host.links == () for host in plan_of("lab").hosts.values())


def test_a_dark_machine_with_one_port_needs_no_word_of_cabling(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("lab-metal")
    assert plan.hosts["worker-1"].links == (
        LinkPlan(
            name="mgmt0", kind="port", mtu=1500, mac=MACS[0], rename=True, network="management",
            address="10.77.0.64/24", routes=DEFAULT,
        ),
    )  # fmt: skip
    assert plan.hosts["control-1"].links == ()
    assert host_vars(plan.hosts["worker-1"])["links"][0]["routes"] == [["0.0.0.0/0", "10.77.0.1"]]


def test_a_tagged_network_rides_on_the_management_s_link(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("lab-metal", {"networks/storage": {"cidr": "10.77.9.0/24", "vlan": 120}})
    assert [finding.name for finding in plan.findings if finding.severity == "error"] == []
    found = links(plan)
    assert (found["stor0"].kind, found["stor0"].parent, found["stor0"].vlan) == ("vlan", "mgmt0", 120)
    assert (found["stor0"].address, found["stor0"].routes) == ("10.77.9.64/24", ())


def test_a_tagged_management_network_leaves_its_port_without_an_address(plan_of: Callable[..., Plan]) -> None:
    found = links(plan_of("lab-metal", {"networks/management/vlan": 77}))
    assert list(found) == ["mgmt0-wire", "mgmt0"]
    assert (found["mgmt0-wire"].mac, found["mgmt0-wire"].address, found["mgmt0-wire"].rename) == (MACS[0], None, False)
    assert (found["mgmt0"].parent, found["mgmt0"].routes) == ("mgmt0-wire", DEFAULT)


def bonded(**bond: Any) -> dict[str, Any]:
    return {
        "networks/management/mtu": 9000,
        "networks/storage": {"cidr": "10.77.9.0/24", "vlan": 120, "mtu": 9000},
        "machines/worker/wiring": {
            "bonds": {"bond0": {"members": ["nic1", "nic2"], **bond}}, "networks": {"management": "bond0"},
        },
        "machines/found/wiring": {"networks": {"management": "eno2"}},
        "machines/worker/machines/worker-1": {"nics": dict(zip(("nic1", "nic2"), MACS, strict=True))},
    }  # fmt: skip


def test_a_bond_carries_the_management_network_and_its_vlans(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("lab-metal", bonded())
    found = links(plan)
    assert list(found) == ["nic1", "nic2", "bond0", "stor0"]
    assert [found[name].mtu for name in found] == [9000] * 4
    bond = found["bond0"]
    assert (bond.members, bond.mode, bond.lacp_rate, bond.mac) == (("nic1", "nic2"), "802.3ad", "slow", MACS[0])
    assert (bond.network, bond.address, bond.routes) == ("management", "10.77.0.64/24", DEFAULT)
    assert found["stor0"].parent == "bond0"
    assert [finding.name for finding in plan.findings] == []
    (management, *_) = plan.hosts["worker-1"].interfaces
    assert (management.name, management.mac) == ("bond0", MACS[0])  # it boots by a port of the bond


def test_a_management_network_without_a_router_gives_hosts_a_way_to_services_alone(
    plan_of: Callable[..., Plan],
) -> None:
    inside = {"hosts/ntp_servers": ["10.77.0.8"], "hosts/dns_servers": ["10.77.0.8"]}
    plan = plan_of("lab-metal", {"networks/management/gateway": "none", **inside})
    assert [finding.name for finding in plan.findings] == ["lab-without-router"]  # of its seed, a container
    assert plan.networks["management"].gateway is None
    assert links(plan)["mgmt0"].routes == (("10.233.0.0/18", ""),)


def test_a_name_is_reached_without_a_router_if_a_resolver_inside_may_know_it(plan_of: Callable[..., Plan]) -> None:
    def names(**changes: Any) -> set[str]:
        found = plan_of("lab-metal", {"networks/management/gateway": "none", **changes}).findings
        return {one.where[0] for one in found if one.name == "server-without-way"}

    time = {"hosts/ntp_servers": ["ntp.lab.test"]}
    assert names(**time) == {"hosts.ntp_servers"}
    assert names(**time, **{"hosts/dns_servers": ["192.0.2.53"]}) == {"hosts.ntp_servers", "hosts.dns_servers"}
    assert names(**time, **{"hosts/dns_servers": ["192.0.2.53", "10.77.0.8"]}) == {"hosts.dns_servers"}


def test_an_untagged_network_keeps_its_own_mtu_on_a_link_whose_vlans_have_more(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("lab-metal", {**bonded(), "networks/management/mtu": 1500})
    found = links(plan)
    assert {name: (link.mtu, link.route_mtu) for name, link in found.items()} == {
        "nic1": (9000, None), "nic2": (9000, None), "bond0": (9000, 1500), "stor0": (9000, None),
    }  # fmt: skip
    assert [finding.name for finding in plan.findings] == []
    mtus = {port.network: port.mtu for port in plan.hosts["worker-1"].interfaces}
    assert (mtus["management"], mtus["storage"]) == (1500, 9000)


def test_a_vlan_of_less_than_its_link_needs_no_route_for_it(plan_of: Callable[..., Plan]) -> None:
    found = links(plan_of("lab-metal", {**bonded(), "networks/storage/mtu": 1500}))
    assert [(link.mtu, link.route_mtu) for link in found.values()] == [(9000, None)] * 3 + [(1500, None)]


def test_cabling_of_the_hardware_is_that_of_its_machines_unless_their_group_says_otherwise(
    plan_of: Callable[..., Plan],
) -> None:
    changes = bonded(mode="active-backup", primary="nic2")
    kind = {"cores": 1, "memory_gb": 2, "nic_gbps": 1, "nvme": False, "wiring": changes.pop("machines/worker/wiring")}
    more = {"hardware": {"metal": kind}, "machines/worker/hardware": "metal"}
    assert links(plan_of("lab-metal", changes | more))["bond0"].primary == "nic2"
    own = {"bonds": {"bond7": {"members": ["nic1", "nic2"]}}, "networks": {"management": "bond7"}}
    assert "bond7" in links(plan_of("lab-metal", changes | more | {"machines/worker/wiring": own}))


def test_a_bridge_stands_on_a_bond_and_has_the_address(plan_of: Callable[..., Plan]) -> None:
    changes = bonded()
    changes["machines/worker/wiring"] |= {"bridges": {"br0": {"members": ["bond0"]}}, "networks": {"management": "br0"}}
    found = links(plan_of("lab-metal", changes))
    assert list(found) == ["nic1", "nic2", "bond0", "br0", "stor0"]
    assert (found["br0"].kind, found["br0"].members, found["br0"].address) == ("bridge", ("bond0",), "10.77.0.64/24")
    assert found["bond0"].address is None


def test_a_bond_carries_vlans_beside_the_bridge_on_it_and_has_the_largest_mtu(plan_of: Callable[..., Plan]) -> None:
    changes = bonded() | {"networks/management/mtu": 1500}
    wiring = {"bridges": {"br0": {"members": ["bond0"]}}, "networks": {"storage": "bond0", "management": "br0"}}
    changes["machines/worker/wiring"] |= wiring
    plan = plan_of("lab-metal", changes)
    found = links(plan)
    assert {name: found[name].mtu for name in found} == {
        "nic1": 9000, "nic2": 9000, "bond0": 9000, "br0": 1500, "stor0": 9000,
    }  # fmt: skip
    assert (found["stor0"].parent, found["br0"].members) == ("bond0", ("bond0",))
    assert [finding.name for finding in plan.findings] == []


def test_links_that_stand_on_each_other_are_a_finding(plan_of: Callable[..., Plan]) -> None:
    changes = bonded()
    changes["machines/worker/wiring"] |= {
        "bonds": {"bond0": {"members": ["br0"]}}, "bridges": {"br0": {"members": ["bond0"]}},
    }  # fmt: skip
    assert "wiring-member-twice" in {finding.name for finding in plan_of("lab-metal", changes).findings}


def test_an_existing_machine_is_left_alone_unless_the_site_says_so(plan_of: Callable[..., Plan]) -> None:
    assert plan_of("edge").hosts["edge-1"].links == ()
    wiring = {"networks": {"management": "eno1", "storage": "eno2"}}
    plan = plan_of("edge", {"machines/node/manage_network": True, "machines/node/wiring": wiring})
    found = links(plan, "edge-1")
    assert (found["eno1"].mac, found["eno1"].rename) == (None, False)  # by the name it has


def test_racks_have_a_subnet_each_and_a_route_to_the_others(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(
        "lab-metal",
        {
            "machines/seed/provisioner": "existing",
            "machines/control/provisioner": "existing",
            "networks/management": {
                "cidr": "10.77.0.0/22",
                "racks": {"r1": {"cidr": "10.77.0.0/24"}, "r2": {"cidr": "10.77.1.0/24", "gateway": "10.77.1.254"}},
            },
            "networks/oob/cidr": "10.78.1.0/24",
            "networks/provisioning/cidr": "10.78.2.0/24",
            "networks/storage": {
                "cidr": "10.79.0.0/22", "vlan": 120,
                "racks": {"r1": {"cidr": "10.79.0.0/24"}, "r2": {"cidr": "10.79.1.0/24"}},
            },
            "machines/worker/rack": "r2",
        },
    )  # fmt: skip
    found = links(plan)
    assert [finding for finding in plan.findings if finding.severity == "error"] == []
    assert (found["mgmt0"].address, found["mgmt0"].routes) == ("10.77.1.64/24", (("0.0.0.0/0", "10.77.1.254"),))
    assert (found["stor0"].address, found["stor0"].routes) == ("10.79.1.64/24", (("10.79.0.0/22", "10.79.1.1"),))
    assert plan.hosts["control-1"].address == "10.77.0.16"
    assert (plan.edge.address, plan.edge.prefix) == ("10.77.0.2", 24)  # in the control hosts' segment


def test_a_machine_that_is_to_be_discovered_without_cabling_has_no_links_yet(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("lab-metal")
    assert plan.hosts["found-1"].links == ()
    assert "network-without-port" not in {finding.name for finding in plan.findings}


def test_a_bond_of_a_machine_that_is_to_be_discovered_is_kept_by_the_names_of_ports(
    plan_of: Callable[..., Plan],
) -> None:
    plan = plan_of("rack-metal")
    found = links(plan, "hypervisor-1")
    assert list(found) == ["ens1f0np0", "ens1f1np1", "bond0", "stor0", "tnl0", "ext0"]
    assert {found[name].parent for name in ("stor0", "tnl0", "ext0")} == {"bond0"}
    assert (found["bond0"].mode, found["bond0"].lacp_rate) == ("802.3ad", "fast")
    assert {link.mac for link in found.values()} == {None}
    assert "provisioning" not in {link.network for link in found.values()}, "it is where the machine boots"


def test_a_tagged_provisioning_network_is_not_put_on_the_bond_of_a_discovered_machine(
    plan_of: Callable[..., Plan],
) -> None:
    plan = plan_of("rack-metal", {"networks/provisioning/vlan": 97})
    assert "provisioning" not in {link.network for link in plan.hosts["hypervisor-1"].links}


def test_a_rack_from_power_off_has_the_addresses_and_links_of_one_that_is_installed(
    plan_of: Callable[..., Plan],
) -> None:
    rack, metal = plan_of("rack"), plan_of("rack-metal")
    assert {n: h.address for n, h in rack.hosts.items()} == {n: h.address for n, h in metal.hosts.items()}
    assert {n: h.links for n, h in rack.hosts.items()} == {n: h.links for n, h in metal.hosts.items()}


def test_a_provider_network_on_a_bond_of_its_own_is_left_to_open_vswitch_with_its_tags(
    plan_of: Callable[..., Plan],
) -> None:
    plan = plan_of("region")
    found = links(plan, "hypervisor-r1-1")
    assert (found["bond1"].network, found["bond1"].address) == ("provider", None)
    assert "ext0" not in found
    assert [one.name for one in plan.hosts["hypervisor-r1-1"].interfaces if one.network == "provider"] == ["bond1"]


def test_a_provider_network_on_a_shared_bond_is_a_vlan_of_the_host(plan_of: Callable[..., Plan]) -> None:
    found = links(plan_of("rack"), "hypervisor-1")
    assert (found["ext0"].vlan, found["ext0"].parent, found["ext0"].address) == (203, "bond0", None)
