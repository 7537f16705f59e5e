"""What preflight says of one host: nothing of a good one, and each fault with its remedy."""

from __future__ import annotations

import os
import platform
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._preflight.checks import run
from ansible_collections.groundup.cloud.plugins.module_utils._preflight.links import Link

from .conftest import PLAIN, SYSTEMS, Host, faults, wanted


def test_a_plain_debian_passes_every_check_and_tells_its_interface(host: Host) -> None:
    result = run(host, wanted())
    assert result["faults"] == []
    assert result["facts"] == {
        "serves": False,
        "ours": False,
        "virtual_ip": "",
        "machine_id": "0123456789abcdef0123456789abcdef",
        "hostname": "debian",
        "macs": ["52:54:00:00:00:01"],
        "addresses": ["10.0.0.4"],
        "interfaces": {"management": "ens3"},
    }


def test_the_usb_port_of_a_controller_identifies_no_machine(host: Host) -> None:
    host.found["enxbe3a"] = Link(mtu=1500, up=True, mac="be:3a:f2:b6:05:9f", addresses={})
    host.write("/sys/class/net/ens3/device/uevent", "DRIVER=mlx5_core\nPCI_ID=15B3:1015\n")
    host.write("/sys/class/net/enxbe3a/device/uevent", "DEVTYPE=usb_interface\nDRIVER=cdc_ether\n")
    assert run(host, wanted())["facts"]["macs"] == ["52:54:00:00:00:01"]


def test_another_distribution_is_refused_by_its_own_name(host: Host) -> None:
    host.write("/etc/os-release", 'PRETTY_NAME="Ubuntu 24.04 LTS"\nID=ubuntu\nVERSION_ID="24.04"\n')
    assert faults(host) == [("system", "error", "Ubuntu 24.04 LTS is not supported")]


def test_a_release_the_site_serves_no_packages_for_is_refused(host: Host) -> None:
    assert faults(host, wanted(releases=["12", "13"])) == []
    assert faults(host, wanted(releases=["12"])) == [("system", "error", "the site serves no packages for Debian 13")]


def test_what_is_no_system_of_the_table_is_named(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.write("/proc/1/comm", "runit\n")
    assert faults(host) == [("system", "error", "systemd does not run as the first process")]
    host.write("/proc/1/comm", "systemd\n")
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert faults(host) == [("system", "error", "the architecture arm64 is not supported")]
    monkeypatch.undo()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    old = [one | {"python": "9.9", "kernel": "99.1"} for one in SYSTEMS]
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert faults(host, wanted(systems=old)) == [
        ("system", "error", f"modules run by Python {version}, older than Debian 13's own"),
        ("system", "warning", "the kernel is older than Debian 13's own, 99.1"),
    ]


def test_an_open_quotation_mark_hides_no_release(host: Host) -> None:
    host.write("/etc/os-release", 'ID=debian\nVERSION_ID="13"\nNAME=Joe\'s\n')
    assert faults(host) == []


def test_machines_are_told_apart_by_their_hardware(host: Host) -> None:
    host.found["cni0"] = Link(mtu=1500, up=True, mac="3a:00:00:00:00:99", addresses={})
    host.found["sit0"] = Link(mtu=1480, up=False, mac="00:00:00:00", addresses={})
    assert run(host, wanted())["facts"]["macs"] == ["3a:00:00:00:00:99", "52:54:00:00:00:01"], "a container"
    host.write("/sys/class/net/ens3/device/uevent")
    assert run(host, wanted())["facts"]["macs"] == ["52:54:00:00:00:01"]


def test_debian_11_is_refused_though_it_is_debian(host: Host) -> None:
    host.write("/etc/os-release", 'PRETTY_NAME="Debian GNU/Linux 11 (bullseye)"\nID=debian\nVERSION_ID="11"\n')
    (fault,) = run(host, wanted())["faults"]
    assert fault["what"] == "Debian GNU/Linux 11 (bullseye) is not supported"
    assert fault["remedy"] == "install one of: Debian 12, Debian 13"


def test_a_module_without_root_is_an_error(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert faults(host) == [("sudo", "error", "modules do not run as root")]


def test_an_account_other_than_root_needs_a_sudo(host: Host) -> None:
    assert faults(host, wanted(user="ops")) == [("sudo", "error", "there is no sudo, by which ops becomes root")]
    host.write("/usr/sbin/visudo", "")
    assert faults(host, wanted(user="ops")) == []


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


def test_a_smaller_machine_than_its_profile_is_an_error_where_the_site_needs_it(host: Host) -> None:
    large = {"name": "large", "cores": 8, "memory_gb": 64, "nic_gbps": 10, "nvme": False}
    host.write("/sys/class/net/ens3/speed", "1000\n")
    assert faults(host, wanted(hardware=large, hardware_required=True)) == [
        ("hardware", "error", "2 of the 8 cores of large"),
        ("hardware", "error", "4 of the 64 GiB of memory of large"),
        ("hardware", "warning", "a network port of 1 of the 10 Gbit/s of large"),
    ]
    assert {one[1] for one in faults(host, wanted(hardware=large))} == {"warning"}
    host.write("/etc/groundup/site", "unit x\n")
    serves = faults(host, wanted(hardware=large, hardware_required=True, node=False))
    assert {one[1] for one in serves} == {"warning"}, "a memory module broke"
    host.write("/sys/class/net/ens3/speed", "-1\n")
    assert "network port" not in str(faults(host, wanted(hardware=large))), "a virtual port has no speed"


def test_directories_of_one_file_system_need_room_together(host: Host) -> None:
    state = os.statvfs(host.root)
    free = state.f_bavail * state.f_frsize // 2**30
    half = {"/var/lib/containerd": free // 2 + 1, "/var/lib/etcd": free // 2 + 1}
    ((_, severity, what),) = faults(host, wanted(space=half))
    assert severity == "error"
    assert what.endswith("for /var/lib/containerd, /var/lib/etcd")
    assert faults(host, wanted(space={"/var/lib/etcd": free // 2})) == []


def test_a_disk_on_which_the_kubelet_would_evict_every_pod_is_named(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Room enough, but less than its share: CoreDNS would stay Pending, and nothing would say why."""
    free = [14]
    state = {"f_blocks": 100, "f_frsize": 2**30, "f_files": 0}
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(**state, f_bavail=free[0]))
    room = {"/var/lib/containerd": 6, "/var/lib/kubelet": 1, "/var/log": 1}
    ((_, severity, what),) = faults(host, wanted(space=room, eviction=True))
    assert severity == "error"
    assert what.startswith("less than 15% free for /var/lib/containerd, /var/lib/kubelet, /var/log: ")
    assert faults(host, wanted(space=room)) == [], "the site file has limits of its own"
    assert faults(host, wanted(space={"/var/lib/kubelet": 1}, eviction=True)) == [], "images are elsewhere"
    free[0] = 16
    assert faults(host, wanted(space=room, eviction=True)) == []


def test_a_port_of_the_plan_held_by_another_program_is_named_with_its_process(host: Host) -> None:
    host.listen(10250, "nginx")
    (fault,) = run(host, wanted())["faults"]
    assert fault["what"] == "port 10250/tcp is taken by nginx, and kubelet is to listen there"
    assert fault["where"] == "process 812"


def test_a_program_of_the_right_name_is_somebody_elses_before_the_site_wrote_anything(host: Host) -> None:
    host.listen(22, "sshd", inode=1, pid=300)
    host.listen(10250, "kubelet")
    said = "port 10250/tcp is taken by kubelet, and the site's own is to listen there"
    assert faults(host) == [("ports", "error", said)]
    host.write("/etc/ssh/sshd_config.d/20-groundup.conf")
    assert faults(host) == [], "an earlier run was killed"


def test_a_tunnels_port_is_the_kernels_and_no_programs(host: Host) -> None:
    host.listen(8472, "dnsmasq", protocol="udp")
    assert [one[2] for one in faults(host)] == ["port 8472/udp is taken by dnsmasq, and the kernel is to listen there"]


def test_ports_nobody_planned_are_nobodys_business(host: Host) -> None:
    host.listen(9100, "node_exporter")
    assert faults(host) == []


@pytest.mark.parametrize(
    "rules",
    [
        "table inet filter {\n\tchain input {\n\t\ttype filter hook input priority filter; policy drop;\n\t}\n}\n",
        "table inet filter {\n\tchain input {\n\t\ttype filter hook input priority filter; policy accept;\n"
        "\t\ttcp dport 22 accept\n\t\treject with icmpx admin-prohibited\n\t}\n}\n",
        "table inet filter {\n\tchain input {\n\t\ttype filter hook input priority filter; policy accept;\n"
        '\t\tlog prefix "no, drop: " level info counter packets 3 bytes 180 drop comment "end"\n\t}\n}\n',
        "table inet filter {\n\tchain last {\n\t\tlog\n\t\tcounter reject\n\t}\n\tchain input {\n"
        "\t\ttype filter hook input priority filter; policy accept;\n\t\tct state established accept\n"
        "\t\tjump last\n\t}\n}\n",
    ],
    ids=["policy", "last rule", "log and drop", "a chain at the end"],
)
def test_a_filter_that_drops_what_it_does_not_name_is_named(host: Host, rules: str) -> None:
    host.programs["nft"] = rules
    (fault,) = run(host, wanted())["faults"]
    assert (fault["severity"], fault["where"]) == ("warning", "inet filter input")
    assert "10250/tcp" in fault["remedy"]


@pytest.mark.parametrize(
    "rules",
    [
        "-P INPUT ACCEPT\n-N LOGDROP\n-A INPUT -p tcp --dport 22 -j ACCEPT\n-A INPUT -j LOGDROP\n-A LOGDROP -j LOG\n"
        "-A LOGDROP -j DROP\n",
        '-P INPUT ACCEPT\n-A INPUT -m comment --comment "the rest" -j REJECT --reject-with icmp-port-unreachable\n',
    ],
)
def test_rules_of_the_legacy_iptables_are_seen_beside_nfts(host: Host, rules: str) -> None:
    host.programs = {"nft": "table inet empty {\n}\n", "iptables-legacy": rules}
    assert faults(host) == [("firewall", "warning", "a packet filter drops what it does not name")]


def test_a_chain_that_accepts_first_drops_nothing(host: Host) -> None:
    host.programs = {"iptables": "-P INPUT ACCEPT\n-A INPUT -j ACCEPT\n-A INPUT -j DROP\n"}
    assert faults(host) == []


RANGES = {"kubernetes.pod_cidr": "10.233.64.0/18", "kubernetes.service_cidr": "10.233.0.0/18"}
ROUTES = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"


def test_an_interface_or_route_inside_the_networks_of_pods_and_services_is_an_error(host: Host) -> None:
    host.found["wg0"] = Link(mtu=1420, up=True, mac="", addresses={"10.233.70.1": 24})
    host.write("/proc/net/route", f"{ROUTES}tun0 0010E90A 0100000A 0003 0 0 0 00F0FFFF 0 0 0\n")
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


@pytest.mark.parametrize(("disks", "found"), [(("nvme0n1", "nvme1n1"), []), (("nvme0n1", "sda"), ["/dev/sda"])])
def test_the_disks_below_a_volume_of_raid_are_the_system_disk(
    host: Host, disks: tuple[str, ...], found: list[str]
) -> None:
    number = host.root.stat().st_dev
    md, dm = host.path("/sys/devices/virtual/block/md0"), host.path("/sys/devices/virtual/block/dm-0")
    for at, below in ((dm, [md]), (md, [])):
        (at / "slaves").mkdir(parents=True)
        for one in below:
            (at / "slaves" / one.name).symlink_to(one)
    for disk in disks:
        host.write(f"/sys/devices/{disk}/{disk}p2/partition", "2\n")
        (md / "slaves" / f"{disk}p2").symlink_to(host.path(f"/sys/devices/{disk}/{disk}p2"))
    block = host.path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    block.parent.mkdir(parents=True)
    block.symlink_to(dm)
    small = {"name": "small", "cores": 1, "memory_gb": 1, "nic_gbps": 1, "nvme": True}
    assert [one["where"] for one in run(host, wanted(hardware=small))["faults"]] == found


def test_filters_elsewhere_and_rules_with_conditions_are_none_of_it(host: Host) -> None:
    host.programs["nft"] = (
        "table inet filter {\n\tchain input {\n\t\ttype filter hook input priority 0; policy accept;\n"
        "\t\tct state invalid drop\n\t}\n\tchain forward {\n\t\ttype filter hook forward priority 0; policy drop;\n"
        "\t\tdrop\n\t}\n}\n"
    )
    assert faults(host) == []
    host.programs = {"iptables": "-P INPUT DROP\n-A INPUT -i lo -j ACCEPT\n"}
    assert faults(host) == [("firewall", "warning", "a packet filter drops what it does not name")]


def test_a_port_of_a_control_host_that_answers_nothing_is_filtered(host: Host) -> None:
    host.filtered = {("10.0.0.2", 6444)}
    (fault,) = run(host, wanted())["faults"]
    assert (fault["check"], fault["severity"], fault["where"]) == ("firewall", "error", "10.0.0.2:6444")
    host.filtered.add(("10.0.0.2", 22))
    assert [one[0] for one in faults(host)] == ["firewall"], "it answers an echo: a filter keeps all ports"
    host.lost = {size: {"10.0.0.2": "no answer"} for size in (64, 1500)}
    assert [one[0] for one in faults(host)] == ["mtu"], "that host is down: it has a line of its own"
    host.lost = {}
    host.filtered = {("10.0.0.2", 22)}
    assert faults(host) == [], "hosts need no login to each other"
    host.found["ens3"].addresses["10.0.0.2"] = 24
    host.filtered = {("10.0.0.2", 6444)}
    assert faults(host) == [], "it is this host"


def test_a_check_that_cannot_look_says_so_and_hides_no_other(host: Host) -> None:
    def broken() -> dict[str, Any]:
        raise PermissionError(13, "Permission denied")

    host.links = broken
    host.write("/proc/swaps", f"{PLAIN['/proc/swaps']}/dev/sda2 partition 1 0 -2\n")
    found = faults(host)
    assert ("swap", "error", "swap is on") in found
    assert ("address", "warning", "could not be checked") in found
