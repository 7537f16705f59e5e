"""Installation of machines from power-off: the seed's Ironic, network boot, and what is installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from urllib.parse import urlsplit

from ...layers.ports import PORTS
from ...layers.systems import ENVIRONMENT
from ..layout.addresses import nth_of, number, text
from ..layout.context import Layout
from ..layout.wires import gateway_of
from ..part_types import LeafPlan, MetalPlan, NetbootPlan, RunnerPlan
from ..types import HostPlan, NetworkPlan, SupplyPlan

IRONIC, AGENT, SYSTEM = "39.0.0", "13.0.0", "13"  # versions of artifacts in supply.lock; a test compares them
# Protocol of a management controller -> boot interface of Ironic. This version has no others.
PROTOCOLS = {"redfish-virtual-media": "redfish-virtual-media", "redfish": "ipxe"}
ARTIFACTS = {"ironic-13": IRONIC, "deploy-ramdisk-13": AGENT, "machine-13": SYSTEM}
NETBOOT = {"netboot-13": SYSTEM}  # only for sites that boot machines from the network
RUNNER = {"runner-13": "2.19.14"}  # ansible-core, only for sites whose seed configures machines
POOL = 8  # the last 1/8 of the network is for unknown machines


def metal(layout: Layout, supply: SupplyPlan) -> MetalPlan | None:
    """Return the settings of the layer `ironic`; None when it has nothing to do."""
    address = layout.hosts[supply.seed].address if supply.seed else None
    if not artifacts(layout) or not address:
        return None
    environment, ramdisk, image = (f"{name}/{version}" for name, version in _booted(layout).items())
    return MetalPlan(
        release=IRONIC,
        environment=f"{environment}/{ENVIRONMENT}",
        ramdisk=ramdisk,
        image=f"{image}/machine.qcow2",
        files_url=f"https://{address}:{urlsplit(supply.files_url).port}",
        api_url=f"https://{address}:{PORTS['ironic'].port}",
        api_inside=PORTS["ironic-inside"].port,
        media_url=f"https://{address}:{PORTS['ironic-media'].port}",
        contact_inside=PORTS["ironic-contact"].port,
        netboot=_netboot(layout, supply, address),
        machines_inside=PORTS["ironic-machines"].port,
        runner=_runner(layout, address),
    )


def artifacts(layout: Layout) -> tuple[str, ...]:
    """Return the artifacts of supply.lock that only sites with machines from power-off need."""
    dark = [host for host in layout.hosts.values() if host.provisioner == "ironic"]
    runs = bool(dark and layout.site.seed.runner)
    return (
        *(_booted(layout) if dark else ()),
        *(NETBOOT if any(map(from_network, dark)) else ()),
        *(RUNNER if runs else ()),
    )


def _booted(layout: Layout) -> dict[str, str]:
    """Return ``ARTIFACTS``, with the variants for the firmware that the site file chooses."""
    more = "".join(f"+{name}" for name in sorted(set(layout.site.supply.firmware)))
    return {name if name.startswith("ironic") else name + more: version for name, version in ARTIFACTS.items()}


def _runner(layout: Layout, address: str) -> RunnerPlan | None:
    ((name, release),) = RUNNER.items()
    layers = tuple(layout.site.seed.runner)
    if not layers:
        return None
    return RunnerPlan(release=release, environment=f"{name}/{release}/{ENVIRONMENT}", layers=layers, source=address)


def from_network(host: HostPlan) -> bool:
    """Say whether ``host`` boots from the network."""
    return host.provisioner == "ironic" and PROTOCOLS.get(str((host.bmc or {}).get("protocol"))) == "ipxe"


def to_discover(host: HostPlan, networks: Mapping[str, NetworkPlan]) -> bool:
    """Say whether the boot port of ``host`` is unknown, so that its ramdisk must report it."""
    boots = [port for port in host.interfaces if networks[port.network].purpose == "provisioning"]
    return from_network(host) and not any(port.mac for port in boots)


def pool_of(network: NetworkPlan, hosts: Iterable[HostPlan]) -> tuple[str, str]:
    """Return the first and last address for unknown machines: above planned addresses, and without the router's."""
    if network.pools:
        return network.pools[0]
    segment = IPv4Network(network.cidr)
    size = segment.num_addresses
    planned = (port.address for host in hosts for port in host.interfaces if port.network == network.name)
    highest = max((number(one) for one in planned if one and IPv4Address(one) in segment), default=0)
    first = max(number(nth_of(network.cidr, size - size // POOL)), highest + 1)
    last, router = number(nth_of(network.cidr, size - 2)), number(network.gateway or network.cidr.partition("/")[0])
    if first <= router <= last:  # keep the larger part
        first, last = (first, router - 1) if router - first > last - router else (router + 1, last)
    return text(first), text(last)


def segments(layout: Layout, network: NetworkPlan) -> dict[str, NetworkPlan]:
    """Return the segments of ``network``, each with its own router, by rack; "" when it has only one."""
    racks = layout.written[network.name].racks
    return {
        rack: replace(network, cidr=subnet.cidr, gateway=gateway_of(layout, network.name, rack))
        for rack, subnet in racks.items()
    } or {"": network}


def on_plane(host: HostPlan, networks: Mapping[str, NetworkPlan]) -> bool:
    """Say whether ``host`` is on the provisioning network while it is in service."""
    linked = any(
        link.network and networks[link.network].purpose == "provisioning" and link.address for link in host.links
    )
    return from_network(host) or (host.provisioner == "ironic" and linked)


def set_plane(layout: Layout, found: MetalPlan | None) -> None:
    """Make machines on the provisioning network use the seed for DNS and time where the site file names no servers."""
    if not found or not found.netboot:
        return
    seed, written = (found.netboot.address,), layout.site.hosts
    for name, host in layout.hosts.items():
        if on_plane(host, layout.networks):
            layout.hosts[name] = replace(
                host,
                ntp_servers=() if written.ntp_servers else seed,
                dns_servers=() if written.dns_servers else seed,
            )


def _netboot(layout: Layout, supply: SupplyPlan, seed_address: str) -> NetbootPlan | None:
    booting = [host for host in layout.hosts.values() if from_network(host)]
    networks = layout.by_purpose("provisioning")
    if not booting or not networks:
        return None
    network, seed = networks[0], layout.hosts[str(supply.seed)]
    address = next((port.address for port in seed.interfaces if port.network == network.name), None)
    if not address:
        return None
    port = PORTS["netboot"].port
    unknown = any(to_discover(host, layout.networks) for host in booting)
    parts = segments(layout, network)
    own = parts.get(seed.rack) or network

    def pool(part: NetworkPlan) -> tuple[str, str] | None:
        return pool_of(part, layout.hosts.values()) if unknown else None

    return NetbootPlan(
        programs=f"netboot-13/{SYSTEM}/netboot.tar.gz",
        plane=network.cidr,
        cidr=own.cidr,
        gateway=own.gateway,
        leaves=tuple(
            LeafPlan(rack=rack, cidr=part.cidr, gateway=str(part.gateway), pool=pool(part))
            for rack, part in parts.items()
            if part is not own and rack
        ),
        address=address,
        seed_address=seed_address,
        port=port,
        url=f"http://{address}:{port}",
        pool=pool(own),
    )
