"""Settings of hypervisors: OVN's southbound database, compute settings, Ceph keys."""

from __future__ import annotations

from collections.abc import Iterator

from ....module_utils._plan.ceph import CephPlan
from ...layers.layers import LAYERS
from ...layers.ports import PORTS
from ...layers.runtime import HYPERVISOR, TPM
from ...layers.systems import ENVIRONMENT
from ..layout.context import Layout
from ..part_types import SriovPlan
from ..types import HypervisorPlan
from .ovn import bridge_mappings
from .versions import nearest_openstack


def hypervisor(layout: Layout, ceph: CephPlan | None) -> HypervisorPlan:
    """Return the settings of every hypervisor."""
    port = PORTS["ovn-sb-chassis"].port
    kinds = dict.fromkeys(host.hardware for host in layout.with_role("hypervisor"))
    programs = HYPERVISOR | (TPM if "barbican" in layout.site.openstack.services else {})
    compute = {kind: layout.hardware[kind].compute.model_dump() for kind in kinds if kind in layout.hardware}
    return HypervisorPlan(
        # On the management network: ovn-controller must not depend on a bridge that it programs itself.
        southbound=tuple(f"ssl:{host.address}:{port}" for host in layout.with_role("control")),
        compute=compute,
        environments={
            release: f"hypervisor-{release}/{layout.site.openstack.release}/{ENVIRONMENT}"
            for release in layout.site.hosts.debian_releases
        },
        volumes=ceph.clients["cinder"] if ceph and "cinder" in layout.site.openstack.services else None,
        programs={path: what for path, (_, what) in programs.items()},
        disks=ceph.clients.get("nova") if ceph and any(one["disks"] == "ceph" for one in compute.values()) else None,
        sriov={kind: cards for kind in compute if (cards := tuple(_cards(layout, kind)))},
    )


def _cards(layout: Layout, kind: str) -> Iterator[SriovPlan]:
    """Yield the cards of hardware profile ``kind`` with virtual functions; findings tell of one on no such network."""
    physical = {network: name for name, network in bridge_mappings(layout).items() if network in layout.networks}
    for card, one in layout.hardware[kind].sriov.items():
        if one.network in physical:
            yield SriovPlan(
                card=card,
                functions=one.functions,
                physical_network=physical[one.network],
                mtu=layout.networks[one.network].mtu,
            )


def artifacts(layout: Layout) -> tuple[str, ...]:
    """Return the artifacts of supply.lock that only sites with hypervisors need."""
    if LAYERS["hypervisor"].service not in layout.site.openstack.services or not layout.with_role("hypervisor"):
        return ()
    suffix = nearest_openstack(layout.site.openstack.release).suffix
    return (*(f"hypervisor-{release}{suffix}" for release in layout.site.hosts.debian_releases), "guest")
