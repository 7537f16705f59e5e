"""How machines are installed from power-off: where the seed's Ironic is, and what it writes."""

from __future__ import annotations

from urllib.parse import urlsplit

from ...layers.ports import PORTS
from ..layout.context import Layout
from ..part_types import MetalPlan
from ..types import SupplyPlan
from .hypervisor import ENVIRONMENT

IRONIC, AGENT, SYSTEM = "39.0.0", "13.0.0", "13"  # versions of the lock's artifacts; a test holds them to it
# How the site file says a controller is spoken to -> Ironic's boot interface. Others are not in this version.
PROTOCOLS = {"redfish-virtual-media": "redfish-virtual-media"}
ARTIFACTS = {"ironic-13": IRONIC, "deploy-ramdisk-13": AGENT, "machine-13": SYSTEM}


def metal(layout: Layout, supply: SupplyPlan) -> MetalPlan | None:
    """Return what the layer `ironic` is told; None where it has nothing to do."""
    address = layout.hosts[supply.seed].address if supply.seed else None
    if not artifacts(layout) or not address:
        return None
    environment, ramdisk, image = (f"{name}/{version}" for name, version in ARTIFACTS.items())
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
        machines_inside=PORTS["ironic-machines"].port,
    )


def artifacts(layout: Layout) -> tuple[str, ...]:
    """Return the lock's artifacts that only sites with machines from power-off need."""
    return tuple(ARTIFACTS) if any(host.provisioner == "ironic" for host in layout.hosts.values()) else ()
