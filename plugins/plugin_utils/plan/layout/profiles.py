"""Defaults by profile. The site file can override each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from ...layers.provisioners import Provisioner
from ..model.machines import Compute, Hardware, Osd
from ..model.site import ProfileName
from ..types import CniName

# Requirement A2: the machines of a region, and smaller ones for the other profiles; a rack has those of an edge.
HARDWARE: dict[str, Hardware] = {
    "region-control": Hardware(cores=32, memory_gb=256, nic_gbps=25, nvme=True),
    "region-hypervisor": Hardware(cores=64, memory_gb=512, nic_gbps=25, nvme=True),
    "region-storage": Hardware(cores=32, memory_gb=256, nic_gbps=25, nvme=True),
    "region-seed": Hardware(cores=8, memory_gb=32, nic_gbps=10, nvme=False),
    "edge-node": Hardware(cores=16, memory_gb=64, nic_gbps=10, nvme=True),
    "edge-seed": Hardware(cores=4, memory_gb=16, nic_gbps=1, nvme=False),
    # Lab hosts share one machine: its kernel may lack openvswitch, its processor virtualisation. Each host reports the
    # whole machine, so the reserved values leave room for the others.
    "lab-container": Hardware(
        cores=1,
        memory_gb=2,
        nic_gbps=1,
        nvme=False,
        compute=Compute(
            datapath="netdev",
            virt_type="qemu",
            cpu_mode="custom",
            cpu_model="Nehalem",
            machine_type="pc",
            reserved_cores=0,
            reserved_memory_gb=4,
            cpu_allocation_ratio=8.0,
            stop_seconds=5,
        ),
        osds=[Osd(file="osd", size_gb=8)],
    ),
    "lab-vm": Hardware(cores=1, memory_gb=2, nic_gbps=1, nvme=False),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Defaults and expectations of one kind of site."""

    provisioner: Provisioner
    cni: CniName
    kubelet: dict[str, Any]
    ignore_preflight: tuple[str, ...]
    sysctl: dict[str, str]
    kernel_modules: tuple[str, ...]
    ntp_servers: tuple[str, ...]
    ceph: dict[str, str]  # options of Ceph daemons
    failure_domain: Literal["host", "rack"]
    production: bool  # findings about quorums, copies and settings are errors or warnings, elsewhere milder
    large: bool  # what takes many machines is demanded, too: their sizes, three racks, no host with two purposes
    control_taint: bool  # control hosts run only the control plane
    self_updating: bool  # hosts with sources of their own take Debian's security updates by themselves


_KUBELET = {"cgroupDriver": "systemd"}
# Lab hosts share the machine's disk: limits are in bytes, not percentages.
_SHARED_DISK = {
    "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1Gi", "imagefs.available": "1Gi"},
    "imageGCHighThresholdPercent": 100,  # 100 turns garbage collection of unused images off
}
# The same for Ceph: a monitor warns later of a full disk, one slow write is reported for a minute instead of a day,
# and an OSD does not benchmark the shared disk at its first start.
_SHARED_BY_CEPH = {
    "mon_data_avail_warn": "3",
    "mon_data_avail_crit": "1",
    "osd_mclock_skip_benchmark": "true",
    "bluestore_slow_ops_warn_lifetime": "60",
}
_FORWARDING = {
    "net.ipv4.ip_forward": "1",
    "net.bridge.bridge-nf-call-iptables": "1",
    "net.bridge.bridge-nf-call-ip6tables": "1",
}
_MODULES = ("br_netfilter", "overlay")

_EDGE = Profile(
    provisioner="existing",
    cni="flannel",
    kubelet=_KUBELET,
    ignore_preflight=(),
    sysctl=_FORWARDING,
    kernel_modules=_MODULES,
    ntp_servers=("pool.ntp.org",),
    ceph={},
    failure_domain="host",
    production=False,
    large=False,
    control_taint=False,
    self_updating=True,
)

PROFILES: dict[ProfileName, Profile] = {
    # Hosts are system containers of one machine and share its kernel. No module is loaded, and only parameters of a
    # network namespace are set. That kernel may still use cgroup v1 and swap.
    "lab": Profile(
        provisioner="container",
        cni="flannel",
        kubelet={**_KUBELET, **_SHARED_DISK, "failSwapOn": False, "failCgroupV1": False},
        ignore_preflight=("SystemVerification",),
        sysctl=_FORWARDING,
        kernel_modules=(),
        ntp_servers=(),
        ceph=_SHARED_BY_CEPH,
        failure_domain="host",
        production=False,
        large=False,
        control_taint=False,
        self_updating=False,
    ),
    "edge": _EDGE,
    "rack": replace(_EDGE, production=True, control_taint=True),
    "region": replace(_EDGE, failure_domain="rack", production=True, large=True, control_taint=True),
}
