"""What a host says of its system, account, hardware and disks, on a file tree that stands for one."""

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
        "holds_virtual_ip": False,
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


def test_a_check_that_cannot_look_says_so_and_hides_no_other(host: Host) -> None:
    def broken() -> dict[str, Any]:
        raise PermissionError(13, "Permission denied")

    host.links = broken
    host.write("/proc/swaps", f"{PLAIN['/proc/swaps']}/dev/sda2 partition 1 0 -2\n")
    found = faults(host)
    assert ("swap", "error", "swap is on") in found
    assert ("address", "warning", "could not be checked") in found
