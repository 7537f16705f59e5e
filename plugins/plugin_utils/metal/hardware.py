"""Compare a discovered machine with a host of the plan: its hardware, and its ports. Pure."""

from __future__ import annotations

from ...module_utils._base.identifiers import serial_key
from ...module_utils._base.text import printable
from ..plan.platform.metal import from_network
from ..plan.types import HostPlan, Plan
from .cabling import contradiction, lacking_ports
from .disks import lacks_system_disk
from .sighting import Sighting

_SPARE = 0.9  # required share of memory: firmware reserves some


def lacks(plan: Plan, host: HostPlan, one: Sighting, *, size: bool = True) -> list[str]:
    """Return what ``one`` lacks to be ``host``; without ``size``, only system disk and ports count."""
    found = []
    needs = plan.preflight.hardware.get(host.hardware)
    # For a machine that boots from virtual media, only ports with a MAC address in the site file count.
    ports = [port for port in host.interfaces if port.mac or from_network(host)]
    wired = [port for port in ports if plan.networks[port.network].vlan is None or port.mac]
    if needs and size:
        if one.cores < needs["cores"]:
            found.append(f"{one.cores} of {needs['cores']} cores")
        if one.memory_mib < needs["memory_gb"] * 1024 * _SPARE:
            found.append(f"{one.memory_mib / 1024:.1f} of {needs['memory_gb']} GiB of memory")
        speeds = [nic.gbps for nic in one.nics if nic.gbps]
        if speeds and max(speeds) < needs["nic_gbps"]:
            found.append(f"{max(speeds):g} of {needs['nic_gbps']} Gbit/s")
        if needs["nvme"] and not any(disk.name.startswith("nvme") for disk in one.disks):
            found.append("no NVMe disk")
    if missing := lacks_system_disk(one.disks, host.system_disk):
        found.append(missing)
    if len(one.nics) < len(wired):
        more = "".join(f", and {printable(nic.name)[:32]} ({nic.odd})" for nic in one.odd[:2])
        found.append(f"{len(one.nics)} of {len(wired)} network ports{more}")
    if host.serial and one.serial and serial_key(host.serial) != serial_key(one.serial):
        found.append(f"serial {one.serial}, not {host.serial}")
    odd = {nic.mac: f" that can tell machines apart, it is {nic.odd}" for nic in one.odd}
    found += [
        f"no port {port.mac} ({port.network}){odd.get(port.mac, '')}"
        for port in host.interfaces
        if port.mac and port.mac not in one.macs
    ]
    return [*found, *lacking_ports(host, one)]


def ports_of(plan: Plan, host: HostPlan, one: Sighting) -> dict[str, str] | str:
    """Return the MAC addresses of the ports of ``host``, by network; or why they are unknown."""
    if reason := contradiction(plan, host, one):
        return reason
    found = {port.network: port.mac for port in host.interfaces if port.mac}
    cabled = {link.network for link in host.links}
    if boot := next((name for name in cabled if name and plan.networks[name].purpose == "provisioning"), None):
        found[boot] = one.boots
    rest = [port.network for port in host.interfaces if not port.mac and port.network not in cabled]
    boot = next((name for name in rest if plan.networks[name].purpose == "provisioning"), None)
    if boot and one.boots in one.macs:
        found[boot] = one.boots
        rest.remove(boot)
    elif boot and (odd := next((nic.odd for nic in one.odd if nic.mac == one.boots), "")):
        return f"it boots from {one.boots}, which has no network: {odd}"
    free = [nic.mac for nic in one.nics if nic.carrier and nic.mac not in found.values()]
    if len(rest) == 1 and len(free) == 1:
        return {**found, rest[0]: free[0]}
    if rest:
        return f"{len(free)} of its ports have a cable beside the one it boots from, for {', '.join(rest)}"
    return found
