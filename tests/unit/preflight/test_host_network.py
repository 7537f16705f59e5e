"""What a host says of its addresses, interfaces, MTU and routes, on a file tree that stands for one."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._preflight.checks import run
from ansible_collections.groundup.cloud.plugins.module_utils._preflight.links import Link

from .conftest import Host, faults, wanted


def test_a_missing_address_is_an_error_and_on_an_unused_network_a_warning(host: Host) -> None:
    host.found["ens3"].addresses = {"10.9.9.9": 24}
    (fault,) = run(host, wanted())["faults"]
    assert (fault["severity"], fault["what"]) == ("error", "no interface has the planned address on management")
    assert fault["where"] == "10.0.0.4 is planned; it has ens3 10.9.9.9"
    assert [one[1] for one in faults(host, wanted(unused_networks=["management"]))] == ["warning"]


def test_an_interface_without_an_address_is_looked_for_by_its_name(host: Host) -> None:
    provider = {"network": "provider", "address": None, "prefix": 24, "mtu": 1500, "name": "ext0"}
    both = [*wanted().interfaces, provider]
    (fault,) = run(host, wanted(interfaces=both))["faults"]
    assert fault["what"] == "there is no interface ext0, the plan's on provider"
    assert "networks.provider.interface" in fault["remedy"]
    assert faults(host, wanted(interfaces=both, unused_networks=["provider"])) == []
    provider["name"] = "ens3"
    assert faults(host, wanted(interfaces=both)) == []


def test_an_interface_that_is_down_is_named(host: Host) -> None:
    host.found["ens3"].up = False
    assert faults(host) == [("address", "error", "the interface of management is down")]


def test_an_interface_with_another_prefix_or_a_smaller_mtu_is_named(host: Host) -> None:
    host.found["ens3"].addresses = {"10.0.0.4": 16}
    host.found["ens3"].mtu = 1400
    assert faults(host) == [
        ("mtu", "error", "the interface of management has a smaller MTU than the plan's 1500"),
        ("address", "warning", "the address on management has another prefix length than the plan's"),
    ]


def test_lost_packets_of_full_size_are_an_error_only_where_small_ones_arrive(host: Host) -> None:
    host.lost = {1500: {"10.0.0.5": "no answer", "10.0.0.2": "no answer"}, 64: {"10.0.0.2": "no answer"}}
    found = run(host, wanted())["faults"]
    assert [(one["severity"], one["where"]) for one in found] == [
        ("error", "10.0.0.5: no answer"),
        ("warning", "10.0.0.2"),
    ]
    assert found[0]["what"] == "packets of 1500 bytes are lost on management, small ones are not"


def test_a_host_that_serves_is_not_blamed_for_the_wire_of_another(host: Host) -> None:
    host.write("/etc/groundup/site", "unit x\n")
    host.write("/etc/kubernetes/kubelet.conf")
    host.lost = {1500: {"10.0.0.5": "no answer"}}
    assert [one[1] for one in faults(host)] == ["warning"]
    host.lost = {1500: dict.fromkeys(("10.0.0.5", "10.0.0.2"), "no answer"), 64: {"10.0.0.2": "no answer"}}
    assert [one[1] for one in faults(host)] == ["error", "warning"], "all who answer at all"


RANGES = {"kubernetes.pod_cidr": "10.233.64.0/18", "kubernetes.service_cidr": "10.233.0.0/18"}


ROUTES = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"


def test_an_interface_or_route_inside_the_networks_of_pods_and_services_is_an_error(host: Host) -> None:
    host.found["wg0"] = Link(mtu=1420, up=True, mac="", addresses={"10.233.70.1": 24})
    default = "ens3 00000000 0100000A 0003 0 0 0 00000000 0 0 0\n"
    host.write("/proc/net/route", f"{ROUTES}{default}tun0 0010E90A 0100000A 0003 0 0 0 00F0FFFF 0 0 0\n")
    found = run(host, wanted(ranges=RANGES))["faults"]
    assert [(one["check"], one["severity"], one["where"]) for one in found] == [
        ("ranges", "error", "wg0: 10.233.70.0/24"),
        ("ranges", "error", "tun0: 10.233.16.0/20"),
    ]
    assert faults(host, wanted(ranges=RANGES, node=False)) == [], "pods run on nodes alone"


ARP = "IP address HW type Flags HW address Mask Device\n10.0.0.9 0x1 {} 52:54:00:99:99:99 * ens3\n"


@pytest.mark.parametrize(
    ("lost", "flags", "answer"),
    [
        ({}, "0x0", "echo"),
        ({"10.0.0.9": "no answer"}, "0x2", "52:54:00:99:99:99"),
        ({"10.0.0.9": "no answer"}, "0x0", ""),
    ],
)
def test_who_answers_for_the_virtual_ip_of_users_is_told_by_hosts_on_its_network(
    host: Host, lost: dict[str, str], flags: str, answer: str
) -> None:
    host.lost = {64: lost}
    host.write("/proc/net/arp", ARP.format(flags))
    users = wanted(public_ip={"10.0.0.9": "10.0.0.4"})
    assert run(host, users)["facts"]["public_ip"] == answer
    assert "public_ip" not in run(host, wanted())["facts"]
    other = run(host, wanted(public_ip={"10.0.0.9": "192.0.2.11"}))["facts"]
    assert other["public_ip"] == "", "the host layer is still to give it that address"
    host.found["ens3"].addresses["10.0.0.9"] = 32
    assert run(host, users)["facts"] | {"public_ip": "", "holds_public_ip": True} == run(host, users)["facts"]


@pytest.mark.parametrize(
    ("lost", "flags", "answer"),
    [
        ({}, "0x0", "echo"),
        ({"10.0.0.9": "no answer"}, "0x2", "52:54:00:99:99:99"),
        ({"10.0.0.9": "no answer"}, "0x0", ""),
    ],
)
def test_who_answers_for_the_virtual_ip_is_told(host: Host, lost: dict[str, str], flags: str, answer: str) -> None:
    host.lost = {64: lost}
    host.write("/proc/net/arp", ARP.format(flags))
    assert run(host, wanted(virtual_ip="10.0.0.9"))["facts"]["virtual_ip"] == answer
    assert run(host, wanted())["facts"]["virtual_ip"] == "", "a host that is not to hold it does not ask"
    host.found["ens3"].addresses["10.0.0.9"] = 32
    assert run(host, wanted(virtual_ip="10.0.0.9"))["facts"]["virtual_ip"] == "", "it holds the address itself"


def test_a_wider_route_leaves_the_way_to_pods_as_it_is(host: Host) -> None:
    host.write("/proc/net/route", f"{ROUTES}ens3 0000000A 0100000A 0003 0 0 0 000000FF 0 0 0\n")
    assert faults(host, wanted(ranges=RANGES)) == []


def test_a_node_without_any_way_to_services_is_told_what_to_add(host: Host) -> None:
    own = "ens3 0000000A 00000000 0001 0 0 0 00FFFFFF 0 0 0\n"
    for more, fault in (
        ("", True),
        ("ens3 00000000 0100000A 0003 0 0 0 00000000 0 0 0\n", False),  # a default route
        ("ens3 0000E90A 00000000 0001 0 0 0 00C0FFFF 0 0 0\n", False),  # 10.233.0.0/18 itself
        ("ens3 0000000A 0100000A 0003 0 0 0 000000FF 0 0 0\n", False),  # 10.0.0.0/8
    ):
        host.write("/proc/net/route", ROUTES + own + more)
        found = run(host, wanted(ranges=RANGES, node=True))["faults"]
        assert bool(found) is fault, more
    host.write("/proc/net/route", ROUTES + own)
    (missing,) = run(host, wanted(ranges=RANGES, node=True))["faults"]
    assert missing["severity"] == "warning"
    assert "ip route add 10.233.0.0/18 dev INTERFACE" in missing["remedy"]


def test_ports_that_cabling_names_must_be_there_before_anything_is_built(host: Host) -> None:
    assert faults(host, wanted(manages_network=True, ports=["ens3"])) == []
    (fault,) = run(host, wanted(manages_network=True, ports=["ens3", "ens1f1np1"]))["faults"]
    assert (fault["check"], fault["severity"]) == ("network", "error")
    assert fault["what"] == "there is no port ens1f1np1, which the site file's cabling names"
    assert fault["where"] == "it has ens3"
