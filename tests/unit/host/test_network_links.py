"""Which link of a host is a planned one, and routes of a network with another MTU than its link."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import network, network_steps
from ansible_collections.groundup.cloud.plugins.module_utils._host.network_links import Links
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import LinkPlan

from .test_host_network import DEFAULT, PORT, Host, host, in_place, link, wanted

__all__ = ["host"]  # a fixture


def small() -> LinkPlan:
    return replace(PORT, mtu=9000, route_mtu=1400)


def test_routes_of_another_mtu_are_taken_away_in_both_directions(host: Host) -> None:
    in_place()
    network_steps.apply(Changes(check=False), wanted(small()))
    assert (network.STATE / "new.stale").read_text() == "route flush exact 0.0.0.0/0 via 10.0.0.1 dev ens3\n"
    assert (network.STATE / "former.stale").read_text().splitlines() == [
        "route delete 0.0.0.0/0 via 10.0.0.1 dev ens3 mtu 1400",
        "route delete 10.0.0.0/24 dev ens3 scope link src 10.0.0.64 mtu 1400",
    ]
    host.routes = [{**DEFAULT, "metrics": [{"mtu": 1400}]}]
    assert "route replace default via 10.0.0.1 dev ens3 mtu 1400" in network.as_it_is()


def test_a_route_on_the_link_itself_is_looked_for_and_taken_away(host: Host) -> None:
    alone = replace(PORT, routes=(("10.233.0.0/18", ""),))
    host.routes = []
    assert network_steps.differences(wanted(alone)) == ["no route to 10.233.0.0/18 by dev ens3"]
    host.routes = [{"dst": "10.233.0.0/18", "dev": "ens3", "protocol": "static", "scope": "link"}]
    assert network_steps.differences(wanted(alone)) == []
    in_place(alone)
    network_steps.apply(Changes(check=False), wanted())
    assert (network.STATE / "new.stale").read_text() == "route delete 10.233.0.0/18 dev ens3 scope link\n"


def test_a_route_without_the_networks_mtu_is_not_as_planned(host: Host) -> None:
    host.links[1]["mtu"] = 9000
    near: dict[str, Any] = {"dst": "10.0.0.0/24", "dev": "ens3", "scope": "link", "metrics": [{"mtu": 1400}]}
    ours: dict[str, Any] = {**DEFAULT, "metrics": [{"mtu": 1400}]}
    kernels: dict[str, Any] = {"dst": "10.0.0.0/24", "dev": "ens3", "protocol": "kernel", "metric": 4096}
    for routes, said in (
        ([ours, near, kernels], []),
        ([DEFAULT, ours, near, kernels], ["the route to default by 10.0.0.1 has its link's MTU, not MTU 1400"]),
        ([ours, kernels, near], ["the route to 10.0.0.0/24 by dev ens3 has its link's MTU, not MTU 1400"]),
        ([ours], ["no route to 10.0.0.0/24 by dev ens3"]),
    ):
        host.routes = routes
        assert network_steps.differences(wanted(small())) == said
    host.routes, host.links[1]["mtu"] = [ours], 1500
    assert network_steps.differences(wanted()) == ["the route to default by 10.0.0.1 has MTU 1400, not its link's MTU"]


def test_of_two_ports_with_one_address_the_upper_one_is_taken() -> None:
    """Hyper-V and net_failover: a paravirtual port, and below it the function of a card."""
    mac = "52:54:00:00:00:01"
    links = Links({"enP2s1": link("enP2s1", mac, master="eth0"), "eth0": link("eth0", mac)})
    for name in ("mgmt0", "eth0"):
        found = links.of({"kind": "port", "mac": mac, "name": name})
        assert found
        assert found["ifname"] == "eth0"
    vlan = link("bond0.7", mac, linkinfo={"info_kind": "vlan"})
    bonded = Links({"bond0.7": vlan, "eno1": link("eno1", mac, master="bond0")})
    found = bonded.of({"kind": "port", "mac": mac, "name": "mgmt0"})
    assert found
    assert found["ifname"] == "eno1"


def test_a_port_is_a_network_card_even_where_a_dummy_has_its_address() -> None:
    mac = "52:54:00:00:00:01"
    dummy = link("dummy0", mac, linkinfo={"info_kind": "dummy"})
    links = Links({"dummy0": dummy, "enP3s1f0np0": link("enP3s1f0np0", mac, altnames=["enP3s1f0"])})
    for planned in ({"mac": mac, "name": "mgmt0"}, {"mac": None, "name": "enP3s1f0"}):
        found = links.of({"kind": "port", **planned})
        assert found
        assert found["ifname"] == "enP3s1f0np0"
    assert Links({"dummy0": dummy}).of({"kind": "port", "mac": mac, "name": "mgmt0"}) is None
