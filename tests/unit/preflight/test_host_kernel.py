"""What preflight says of a host's clock, swap, kernel and control groups."""

from __future__ import annotations

import platform
import time

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._preflight.model import MachineFacts

from .conftest import NOW, PLAIN, Host, faults, wanted


@pytest.mark.parametrize(("skew", "severity"), [(-3600, "error"), (30, "warning"), (5, None)])
def test_a_clock_that_is_not_the_controllers(host: Host, skew: int, severity: str | None) -> None:
    found = faults(host, wanted(controller_time=NOW - skew))
    assert [one[:2] for one in found] == ([("clock", severity)] if severity else [])


def test_a_time_service_that_will_not_start_is_named(host: Host) -> None:
    host.write("/usr/lib/systemd/system/chrony.service")
    assert faults(host) == [("clock", "error", "the time service chrony.service is installed and disabled")]
    host.write("/etc/systemd/system/multi-user.target.wants/chrony.service")
    assert faults(host) == []
    host.write("/usr/lib/systemd/system/systemd-timesyncd.service")
    assert faults(host) == [], "another one that is off is as it should be"
    host.write("/etc/systemd/system/sysinit.target.wants/systemd-timesyncd.service")
    assert [one[1] for one in faults(host)] == ["warning"]


def test_a_clock_that_follows_ptp_needs_no_other_time_service(host: Host) -> None:
    host.write("/usr/lib/systemd/system/chrony.service")
    host.write("/etc/systemd/system/multi-user.target.wants/phc2sys@ens3.service")
    assert faults(host) == []


@pytest.mark.parametrize("unit", ["timemaster.service", "ptpd.service", "sfptpd.service"])
def test_other_programs_of_ptp_are_known(host: Host, unit: str) -> None:
    host.write("/usr/lib/systemd/system/chrony.service")
    host.write(f"/etc/systemd/system/multi-user.target.wants/{unit}")
    assert faults(host) == []


def test_openntpd_is_no_ntpsec_that_is_off(host: Host) -> None:
    host.write("/usr/sbin/ntpd")
    host.write("/usr/lib/systemd/system/openntpd.service")
    host.write("/etc/systemd/system/multi-user.target.wants/openntpd.service")
    assert faults(host) == []


def test_the_clock_is_read_before_other_checks_wait_for_answers() -> None:
    machine = MachineFacts()
    time.sleep(0.01)
    assert machine.now < time.time()


def test_swap_keeps_a_node_from_starting_unless_the_kubelet_bears_it(host: Host) -> None:
    host.write("/proc/swaps", f"{PLAIN['/proc/swaps']}/dev/sda2 partition 1 0 -2\n")
    assert faults(host) == [("swap", "error", "swap is on")]
    assert [one[1] for one in faults(host, wanted(swap=True))] == ["warning"]
    assert [one[1] for one in faults(host, wanted(node=False))] == ["warning"]


def test_a_kernel_module_that_is_nowhere_is_an_error(host: Host) -> None:
    home = f"/lib/modules/{platform.release()}"
    assert faults(host, wanted(kernel_modules=["geneve"])) == [
        ("kernel-modules", "error", "the kernel has no geneve"),
    ]
    host.path(home).rename(host.path("/lib/modules/0.0"))
    assert faults(host) == [
        ("kernel-modules", "error", "the running kernel's modules are not on the disk: br-netfilter, tunnel4"),
    ]
    host.write("/run/systemd/container", "lxc\n")
    assert faults(host) == [
        ("kernel-modules", "error", "the kernel of the machine below has no br-netfilter"),
    ]
    host.write("/proc/sys/net/bridge/bridge-nf-call-iptables", "1\n")
    assert faults(host) == []


def test_control_groups_of_version_1_or_without_a_controller(host: Host) -> None:
    controllers = "/sys/fs/cgroup/cgroup.controllers"
    host.write(controllers, "cpuset cpu io hugetlb pids\n")
    assert faults(host) == [("cgroup", "error", "no control group controller memory")]
    host.path(controllers).unlink()
    assert faults(host) == [("cgroup", "error", "control groups are of version 1, or not mounted")]
    assert faults(host, wanted(cgroup_v1=True)) == []
