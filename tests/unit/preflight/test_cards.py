"""What a host says of the cards whose virtual functions its hardware profile has."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Host, faults, wanted

HARDWARE: dict[str, Any] = {"name": "small", "cores": 2, "memory_gb": 4, "nic_gbps": 1, "nvme": False}
PLAN = wanted(hardware={**HARDWARE, "sriov": {"ens2": {"functions": 8, "network": "provider"}}})
PORT = "/sys/class/net/ens2"


@pytest.fixture
def able(host: Host) -> Host:
    """Return a host that has all that it takes."""
    host.write(f"{PORT}/device/sriov_totalvfs", "8\n")
    host.write(f"{PORT}/upper_ovs-system/ifindex", "9\n")
    host.write("/sys/kernel/iommu_groups/0/type", "DMA\n")
    return host


def test_a_host_with_such_a_card_passes(able: Host) -> None:
    assert faults(able, PLAN) == []


def test_a_card_that_is_not_there_is_named_with_its_field(able: Host) -> None:
    plan = wanted(hardware={**HARDWARE, "sriov": {"ens7": {"functions": 8, "network": "provider"}}})
    assert faults(able, plan) == [("sriov", "error", "sriov.ens7: there is no such port")]


@pytest.mark.parametrize("total", ["7\n", None])
def test_a_card_that_cannot_have_as_many_functions_is_refused(able: Host, total: str | None) -> None:
    able.path(f"{PORT}/device/sriov_totalvfs").unlink()
    if total:
        able.write(f"{PORT}/device/sriov_totalvfs", total)
    assert faults(able, PLAN) == [("sriov", "error", "sriov.ens2.functions: 8, and the card cannot have as many")]


def test_a_machine_without_an_iommu_is_refused(host: Host) -> None:
    host.write(f"{PORT}/device/sriov_totalvfs", "8\n")
    host.path("/sys/kernel/iommu_groups").mkdir(parents=True)
    assert faults(host, PLAN) == [("sriov", "error", "sriov: no IOMMU (VT-d, AMD-Vi in the firmware; intel_iommu=on)")]


@pytest.mark.parametrize("above", ["bond0", "mgmt0"])
def test_a_card_of_the_hosts_own_bond_or_vlan_is_refused(able: Host, above: str) -> None:
    able.write(f"{PORT}/upper_{above}/ifindex", "7\n")
    assert faults(able, PLAN) == [("sriov", "error", "sriov.ens2: bonds, bridges or VLANs of the host are on it")]


def test_a_card_with_the_hosts_own_address_is_refused(able: Host) -> None:
    able.write("/sys/class/net/ens3/device/sriov_totalvfs", "8\n")
    plan = wanted(hardware={**HARDWARE, "sriov": {"ens3": {"functions": 8, "network": "provider"}}})
    assert faults(able, plan) == [("sriov", "error", "sriov.ens3: the host's own address is on it")]


def test_a_host_that_serves_is_warned_of(host: Host) -> None:
    host.write("/etc/groundup/site", "unit x\n")
    host.write("/etc/kubernetes/kubelet.conf")
    assert {severity for check, severity, _ in faults(host, PLAN) if check == "sriov"} == {"warning"}
