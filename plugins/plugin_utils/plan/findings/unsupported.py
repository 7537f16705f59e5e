"""Parts of the site file that this version plans but does not build."""

from __future__ import annotations

from collections.abc import Iterator

from ...layers.purposes import PURPOSES
from ...layers.storage import BACKENDS
from ..form import error, warning
from ..layout.context import PlanContext
from ..platform.metal import PROTOCOLS, from_network
from ..types import Finding


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield a finding for each part of the site that no layer builds yet."""
    if context.site.edge.kind == "gateway-api":
        yield error("not-in-this-version", "edge.kind")(
            what="the public names are to be served by a Gateway in the cluster, and this version makes none",
            why="nothing would listen on port 443: no release could verify",
            remedy="write edge.kind: haproxy, or leave it out",
        )
    backend = context.site.storage.backend
    if BACKENDS[backend].orchestrated:
        yield warning("not-run-here", "storage.backend")(
            what=f"Ceph on the site's storage hosts by {backend}: what it is told is held against its own schema, and "
            "no cluster was made by it",
            why="the containers' image is not in the supply",
            remedy="try it on a site that may fail; or write storage.backend: native",
        )
    yield from _from_power_off(context)
    for network in context.plan.networks.values():
        record = PURPOSES[network.purpose]
        if record.ignored:
            what = f"a network of its own for {record.carries}"
            yield _warning(f"networks.{network.name}", what, record.ignored, _LEAVE)


def _from_power_off(context: PlanContext) -> Iterator[Finding]:
    """Yield machines that the layer `ironic` cannot install yet."""
    dark = [host for host in context.plan.hosts.values() if host.provisioner == "ironic"]
    other = [host.name for host in dark if (host.bmc or {}).get("protocol") not in PROTOCOLS]
    if other:
        yield _warning(
            "machines",
            f"machines from power-off but by Redfish, {len(other)} of them, {other[0]} first",
            "they must run and accept ssh before the host layer",
            f"write bmc: {{protocol: {next(iter(PROTOCOLS))}}}, install them by other means, or {_KEEP}",
        )
    unseen = [host for host in dark if not from_network(host) and not any(port.mac for port in host.interfaces)]
    for host in unseen:
        if host.links and not any(link.mac for link in host.links):
            yield error("wiring-without-ports", f"machines.{host.group}.machines.{host.name}.nics")(
                what=f"cabling is written for {host.name}, and no MAC address of it is",
                why="a machine that does not boot from the network is not discovered: nobody would know its ports",
                remedy="write nics (port: MAC address) or mac of the machine, or bmc: {protocol: redfish}",
            )
    unknown = [host.name for host in unseen if host.name not in other]
    if unknown:
        yield _warning(
            "machines",
            f"machines by virtual media without a MAC address, {len(unknown)} of them, {unknown[0]} first",
            "the ramdisk of a boot medium finds its network by it",
            "write machines.<group>.machines.<name>.mac, or bmc: {protocol: redfish}: they are discovered",
        )


_KEEP = "keep it for a later version"
_LEAVE = f"leave it out, or {_KEEP}"


def _warning(where: str, what: str, why: str, remedy: str) -> Finding:
    return warning("not-in-this-version", where)(
        what=f"this version does not build it: {what}",
        why=why,
        remedy=remedy,
    )
