"""Preflight checks of existing hosts: systems, hardware, ports, free space, neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from ....module_utils._plan.ceph import Backend
from ....module_utils._plan.kubernetes import Volumes
from ....module_utils._plan.preflight import PreflightRoles
from ...layers.layers import LAYERS, present, sets_of
from ...layers.ports import PORTS, PortRecord
from ...layers.purposes import PURPOSES
from ...layers.roles import Role
from ...layers.systems import SYSTEMS
from ..layout.context import Layout
from ..part_types import AccessPlan, PreflightPlan
from ..types import (
    EdgePlan,
    HostPlan,
    HostSettings,
    KubernetesPlan,
    SupplyPlan,
)
from .monitoring import keeps_logs

_SYSTEM = ("name", "id", "version", "architecture", "kernel", "python")  # what a host's OS must match
NEXT, CONTROL = 2, 3  # peers a host sends packets to: the next two on each network, and three control hosts


def set_neighbours(layout: Layout) -> None:
    """Set each host's neighbours: the next hosts on each of its networks, in a ring, so that traffic grows linearly.

    Changes the hosts' mappings in place: new `HostPlan`s would cost a large site as much as all else here.
    """
    rings: dict[str, list[tuple[HostPlan, str]]] = {name: [] for name in layout.networks}
    for host in layout.hosts.values():
        if host.provisioner == "existing":  # other hosts may not run yet
            for port in host.interfaces:
                if port.address:
                    rings[port.network].append((host, port.address))
    for network, ring in rings.items():
        near = min(NEXT, len(ring) - 1)
        if near > 0:
            addresses = tuple(address for _, address in (*ring, *ring[:near]))
            for place, (host, _) in enumerate(ring, start=1):
                host.neighbours[network] = addresses[place : place + near]


def preflight(
    layout: Layout, *, access: AccessPlan, host: HostSettings, supply: SupplyPlan, kubernetes: KubernetesPlan,
    edge: EdgePlan,
) -> PreflightPlan:  # fmt: skip
    numbers = {
        "ssh": access.port,
        "registry": urlsplit(f"//{supply.registry}").port,
        "files": urlsplit(supply.files_url).port,
        "registry-inside": urlsplit(f"//{supply.registry_inside}").port,
        "api": kubernetes.endpoint_port,
        "api-server": kubernetes.api_port,
    }
    ports = {
        name: replace(record, port=numbers.get(name) or record.port)
        for name, record in _opened(layout, kubernetes, edge, supply)
    }
    there = [one for one in layout.hosts.values() if one.provisioner == "existing"]  # other hosts may not run yet
    control = [one for one in there if one.name in edge.hosts][:CONTROL]
    needs = _Needs(
        ports=ports,
        nodes=frozenset(one.roles for one in layout.hosts.values() if one.node_labels),
        asked=[*control, *(one for one in there if one.name == supply.seed and one not in control)],
        kernel_modules=host.kernel_modules,
        services=layout.site.openstack.services,
        backend=layout.site.storage.backend,
        general=kubernetes.storage_backend,
        monitoring=layout.site.monitoring.enabled,
    )
    return PreflightPlan(
        systems=tuple({name: getattr(record, name) for name in _SYSTEM} for record in SYSTEMS.values()),
        hardware={
            name: {"name": name, **layout.hardware[name].model_dump(exclude={"compute", "osds", "system_disk"})}
            for name in dict.fromkeys(one.hardware for one in layout.hosts.values())
            if name in layout.hardware
        },
        hardware_required=layout.profile.large,
        swap=kubernetes.kubelet.get("failSwapOn", True) is False,
        cgroup_v1=kubernetes.kubelet.get("failCgroupV1", True) is False,
        eviction="evictionHard" not in kubernetes.kubelet,
        unused_networks=tuple(
            name
            for name, network in layout.networks.items()
            if _unused(network.purpose, layout.site.openstack.services, layout.site.storage.backend)
        ),
        ranges={f"kubernetes.{name}": getattr(kubernetes, name) for name in ("pod_cidr", "service_cidr")},
        control={name: addresses for name in layout.networks if (addresses := tuple(_addresses(control, name)))},
        by_roles={
            "+".join(roles): needs.of(roles) for roles in dict.fromkeys(one.roles for one in layout.hosts.values())
        },
        monitoring_listens={f"{one.port}/{one.protocol}": one.programs for one in ports.values() if one.central},
    )


def _opened(
    layout: Layout, kubernetes: KubernetesPlan, edge: EdgePlan, supply: SupplyPlan
) -> Iterator[tuple[str, PortRecord]]:
    """Yield the ports that this site opens: those of its pod network and of what it runs."""
    provisioners = {host.provisioner for host in layout.hosts.values()}
    network = {kubernetes.cni.name, f"{kubernetes.cni.name}:{kubernetes.cni.backend}"}
    for name, record in PORTS.items():
        if record.pod_networks and record.pod_networks.isdisjoint(network):
            continue
        if (name == "public" and not edge.endpoints) or (
            "seed" in record.roles and len(record.roles) == 1 and not supply.seed
        ):
            continue
        if record.service and record.service not in layout.site.openstack.services:
            continue
        if record.backend and record.backend != layout.site.storage.backend:
            continue
        if record.provisioner and record.provisioner not in provisioners:
            continue
        if record.monitoring and not layout.site.monitoring.enabled:
            continue
        if record.logs and not keeps_logs(layout):
            continue
        if record.remote_write and not layout.site.monitoring.remote_write:
            continue
        yield name, record


@dataclass(frozen=True, slots=True, kw_only=True)
class _Needs:
    """Needs of hosts, by their roles."""

    ports: dict[str, PortRecord]  # of this site, with its port numbers
    nodes: frozenset[tuple[Role, ...]]  # role sets of the cluster's nodes
    asked: list[HostPlan]  # hosts whose ports every host probes
    kernel_modules: tuple[str, ...]
    services: list[str]
    backend: Backend
    general: Volumes
    monitoring: bool

    def of(self, roles: tuple[Role, ...]) -> PreflightRoles:
        """Return the checks for hosts with ``roles``."""
        node = roles in self.nodes
        found = sets_of(
            roles, node=node, services=self.services, backend=self.backend, general=self.general,
            monitoring=self.monitoring,
        )  # fmt: skip
        sets = [one for _, one in found]
        modules = [*self.kernel_modules, *(name for one in sets for name in (*one.kernel_modules, *one.needed_modules))]
        kinds = ("vxlan", "vxlan-calico", "geneve")
        tunnels = [name.partition("-")[0] for name in kinds if node and name in self.ports]
        return PreflightRoles(
            node=node,
            listens=self._listens(roles),
            space={directory: gib for one in sets for directory, gib in one.space.items()},
            kernel_modules=tuple(dict.fromkeys(modules + tunnels)),
            reaches={host.address: self._reached(roles, host) for host in self.asked},
        )

    def _open(self, roles: tuple[Role, ...]) -> dict[str, PortRecord]:
        return {name: one for name, one in self.ports.items() if one.fits(roles, node=roles in self.nodes)}

    def _listens(self, roles: tuple[Role, ...]) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for one in self._open(roles).values():
            if one.programs:
                port = f"{one.port}/{one.protocol}"
                found[port] = (*found.get(port, ()), *one.programs)  # a clash between two of our programs is a finding
        return found

    def _reached(self, roles: tuple[Role, ...], host: HostPlan) -> tuple[int, ...]:
        """Return the TCP ports of ``host`` that hosts with ``roles`` must reach, sshd's first."""
        clients = {"anyone", "hosts"} | ({"nodes"} if roles in self.nodes else set())
        clients |= {"control"} if "control" in roles else set()
        found = (
            one.port
            for one in self._open(host.roles).values()
            if one.protocol == "tcp" and one.programs and one.clients in clients
        )
        return tuple(dict.fromkeys((self.ports["ssh"].port, *found)))


def _addresses(hosts: list[HostPlan], network: str) -> Iterator[str]:
    for host in hosts:
        for port in host.interfaces:
            if port.network == network and port.address:
                yield port.address


def _unused(purpose: str, services: list[str], backend: Backend) -> bool:
    record = PURPOSES[purpose]  # type: ignore[index]  # a key of PURPOSES, from the site model
    layer = LAYERS[record.layer] if record.layer else None
    lacks = layer and not present(layer, services=services, backend=backend)
    return bool(record.ignored or lacks)
