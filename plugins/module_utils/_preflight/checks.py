"""Define all checks, in the order of the table in docs/bring-your-own-hosts.md, which is generated from here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .._plan.preflight import Expected
from . import capacity, foreign, network, ports, system
from .links import Link, holder
from .model import MachineFacts, PreflightFault


@dataclass(frozen=True)
class HostCheck:
    """A check: its description for the docs, and its functions."""

    says: str
    functions: tuple[Callable[[MachineFacts, Expected], Iterator[PreflightFault]], ...]


CHECKS: dict[str, HostCheck] = {
    "system": HostCheck(
        "release, architecture, systemd, Python and kernel are those of the table above", (system.check,)
    ),
    "sudo": HostCheck("modules run as root; sudo is there, unless `access.user` is root", (system.account,)),
    "site": HostCheck("it belongs to no other site, and to no secrets that this control node lacks", (foreign.site,)),
    "address": HostCheck(
        "an interface that is up has each planned address, or the planned name where there is none; a warning on a "
        "network that this version does not use",
        (network.addresses,),
    ),
    "network": HostCheck(
        "with `manage_network`, neither ifupdown nor netplan nor NetworkManager runs its network, and the ports that "
        "its cabling names are there",
        (foreign.network_owner, network.ports),
    ),
    "ranges": HostCheck(
        "no interface and no route of a new node is inside the networks of pods and Services; a warning where no route "
        "leads to Services",
        (network.ranges, network.services),
    ),
    "mtu": HostCheck(
        "packets of the planned size, not to be cut, reach the next two hosts and three control hosts on each network; "
        "a warning on a host that serves and reaches others",
        (network.frames,),
    ),
    "hardware": HostCheck(
        "cores, memory, network ports and system disk of its hardware profile; an error on new hosts of region",
        (capacity.hardware,),
    ),
    "sriov": HostCheck(
        "the cards of `sriov` of its hardware profile are there, can have as many functions, and carry nothing of the "
        "host; an IOMMU is on; a warning on a host that serves",
        (capacity.cards,),
    ),
    "space": HostCheck(
        "room where the layers write, and inodes; more free than what has the kubelet evict pods",
        (capacity.space,),
    ),
    "ports": HostCheck("its ports (below) are free, or held by this site's own programs", (ports.taken,)),
    "firewall": HostCheck(
        "ports of control hosts and seed accept or refuse a connection; a warning where its own filter drops what it "
        "does not name",
        (ports.firewall, ports.reachable),
    ),
    "clock": HostCheck(
        "within 60 s of the control node's (15 s: a warning); a time service that is installed starts at boot",
        (system.skew, system.time_service),
    ),
    "swap": HostCheck(
        "off on nodes of the cluster, unless `kubernetes.kubelet` says `failSwapOn: false`", (capacity.swap,)
    ),
    "kernel-modules": HostCheck("those the plan needs are built in, loaded or on the disk", (system.modules,)),
    "cgroup": HostCheck("control groups of version 2 with cpu, cpuset, io, memory and pids", (system.control_groups,)),
    "runtime": HostCheck("no other Kubernetes and no other container runtime on a node", (foreign.clusters,)),
    "proxy": HostCheck("systemd gives its services no proxy without a `NO_PROXY` (a warning)", (foreign.proxies,)),
    "cloud-init": HostCheck("`manage_etc_hosts` is off, and `preserve_hostname` on (a warning)", (foreign.cloud_init,)),
    "packages": HostCheck(
        "no package is half installed, no run of dpkg was interrupted; after a run of ours a warning",
        (system.packages,),
    ),
}


_NOBODYS = {"00:00:00:00:00:00", "00:00:00:00"}  # MAC addresses of loopback and tunnels


def run(machine: MachineFacts, wanted: Expected) -> dict[str, Any]:
    """Return the host's faults, errors first, and facts for comparison with other hosts."""
    faults: list[PreflightFault] = []
    for name, check in CHECKS.items():
        try:
            for function in check.functions:
                faults += function(machine, wanted)
        except OSError as error:
            faults.append(
                PreflightFault(
                    name, "warning", "could not be checked", str(error), "look by hand, or tell the developers"
                )
            )
    faults.sort(key=lambda fault: fault.severity != "error")
    return {
        "faults": [vars(fault) for fault in faults],
        "facts": facts(machine, wanted),
    }


def facts(machine: MachineFacts, wanted: Expected) -> dict[str, Any]:
    """Return what identifies the machine, whether it serves, and the interface of each planned address."""
    try:
        found = machine.links()
    except OSError:  # reported by the check of addresses
        found = {}
    # systemd derives MAC addresses of bridges and tunnels from the machine-id: machines with the same id share them.
    # A USB port may be the BMC's, whose MAC address is the same on all machines of a model.
    devices = {name: f"/sys/class/net/{name}/device" for name in found}
    usb = {name for name, path in devices.items() if "DEVTYPE=usb_interface" in machine.read(f"{path}/uevent")}
    hardware = [name for name, path in devices.items() if name not in usb and machine.has(path)]
    here = next((one["address"] for one in wanted.interfaces if one["address"] and holder(found, one["address"])), "")
    asked = bool(here and wanted.virtual_ip and not holder(found, wanted.virtual_ip))
    return {
        "serves": machine.serves(wanted),
        "ours": machine.site == wanted.site,
        "holds_virtual_ip": bool(wanted.virtual_ip and holder(found, wanted.virtual_ip)),
        "virtual_ip": network.answered(machine, wanted.virtual_ip, source=here) if asked else "",
        **_public(machine, wanted, found),
        "machine_id": machine.read("/etc/machine-id").strip(),
        "hostname": machine.read("/proc/sys/kernel/hostname").strip(),
        "macs": sorted(
            {link.mac for name, link in found.items() if link.mac and name in (hardware or found)} - _NOBODYS
        ),
        "addresses": [one["address"] for one in wanted.interfaces if one["address"] and holder(found, one["address"])],
        "interfaces": {
            planned["network"]: name
            for planned in wanted.interfaces
            if planned["address"] and (name := holder(found, planned["address"]))
        },
    }


def _public(machine: MachineFacts, wanted: Expected, found: dict[str, Link]) -> dict[str, Any]:
    """Return who answers for the virtual IP for users, if there is one that this host is to hold."""
    for address, own in wanted.public_ip.items():
        held = bool(holder(found, address))
        asked = bool(holder(found, own)) and not held
        return {
            "holds_public_ip": held,
            "public_ip": network.answered(machine, address, source=own) if asked else "",
        }
    return {}
