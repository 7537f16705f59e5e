"""Parts of the plan from site model and layout: access, supply, cluster, virtual IP and cloud."""

from __future__ import annotations

from dataclasses import fields
from ipaddress import IPv4Network
from typing import Any, TypeVar

from ....module_utils._plan.ceph import CephPlan
from ...layers.ports import PORTS
from ...layers.purposes import PURPOSES
from ...layers.roles import CONTROL_LABEL, ROLES
from ...layers.scales import Scale, scale
from ...services import RECORDS, needs, of_kind, quotas
from ...services.record import PublicApi
from ..layout.addresses import nth_of
from ..layout.context import Layout
from ..layout.wires import gateway_of
from ..model.base import Model
from ..model.machines import Hardware
from ..model.platform import Hosts
from ..part_types import AccessPlan, FailurePlan
from ..types import (
    DnsPlan,
    EdgePlan,
    EndpointPlan,
    KubernetesPlan,
    OpenStackPlan,
    PackageSource,
    PublicPlan,
    ReleasePlan,
    SupplyPlan,
)
from . import extra, trust, versions
from .ceph import artifacts as ceph_artifacts
from .ceph import rbd
from .ceph import repository as ceph_repository
from .cni import cni
from .csi import csi
from .hypervisor import artifacts as hypervisor_artifacts
from .metal import artifacts as metal_artifacts
from .monitoring import artifacts as monitoring_artifacts

REGISTRY_PORT, FILES_PORT, API_PORT = (PORTS[name].port for name in ("registry", "files", "api"))
# The registry's own address on the seed, where images are pushed; the site reads it through the web server.
REGISTRY_INSIDE = f"127.0.0.1:{PORTS['registry-inside'].port}"
FILES_ROOT = "/srv/groundup"
STORAGE_CLASS = "general"
REGISTRY_LOGIN = "registry/login"  # the given secret: user:password
Kind = TypeVar("Kind")


def planned(kind: type[Kind], written: Model, **decided: Any) -> Kind:
    """Return the part ``kind`` of the plan: fields that are ``decided``, and others of their names as ``written``."""
    names = {field.name for field in fields(kind)} & type(written).model_fields.keys()  # type: ignore[arg-type]
    found = {name: getattr(written, name) for name in names - decided.keys()}
    return kind(**{name: tuple(one) if isinstance(one, list) else one for name, one in found.items()}, **decided)


def access(layout: Layout) -> AccessPlan:
    """Return the logins of hosts."""
    return planned(AccessPlan, layout.site.access)


def supply(layout: Layout) -> SupplyPlan:
    """Return where artifacts come from: the seed, or the registry that the site file names."""
    site = layout.site
    seeds = layout.with_role("seed")
    registry = site.supply.registry or f"registry.{site.domain}:{REGISTRY_PORT}"
    pod_network = site.kubernetes.cni or layout.profile.cni
    found = versions.images(
        registry=registry, kubernetes=site.kubernetes.version, openstack=site.openstack.release, cni=pod_network,
        services=site.openstack.services, rbd=rbd(layout),
    )  # fmt: skip
    fetches = site.supply.source != "registry"  # images, too, not charts alone
    charts = versions.POD_NETWORKS[pod_network].chart
    groups = [f"cni-{pod_network}" if fetches else charts] if charts else []
    groups += [group for group in [versions.nearest_kubernetes(site.kubernetes.version).group] if group and fetches]
    groups += [versions.RBD_GROUP if fetches else versions.RBD.chart] if rbd(layout) else []
    seed = seeds[0].name if seeds and not site.supply.registry else None
    releases = site.hosts.debian_releases if package_source(site.hosts, seed) == "seed" else []
    repositories = {release: ceph_repository(layout, release) for release in releases}
    return planned(
        SupplyPlan,
        site.supply,
        cache_source="upstream" if site.supply.source == "upstream" else "build",
        registry=registry,
        registry_inside=REGISTRY_INSIDE,
        registry_tls=site.supply.registry_tls or not site.supply.registry,
        registry_login=REGISTRY_LOGIN if site.supply.registry_login else None,
        files_url=site.supply.files_url or f"https://registry.{site.domain}:{FILES_PORT}",
        files_root=FILES_ROOT,
        seed=seed,
        readers=_readers(layout),
        packages={release: f"{name}/{release}" for release, name in repositories.items()},
        images={**found, **site.supply.images, **extra.images(site, registry)},
        chosen=(
            *groups,
            *repositories.values(),
            *(
                (
                    *versions.release_artifacts(site.openstack.release, site.openstack.services),
                    *hypervisor_artifacts(layout),
                    *metal_artifacts(layout),
                    *ceph_artifacts(layout),
                    *monitoring_artifacts(layout),
                    *(extra.images(site, registry) if seed else ()),
                )
                if fetches
                else ()
            ),
        ),
    )


def _readers(layout: Layout) -> tuple[str, ...]:
    """Return the networks from which the site's hosts ask the seed and the edge."""
    return tuple(network.cidr for network in layout.networks.values() if PURPOSES[network.purpose].reads)


def package_source(written: Hosts, seed: str | None) -> PackageSource:
    """Return the source of OS packages: as written, else the site's mirror, its seed, or the host's own sources."""
    if written.packages:
        return written.packages
    if written.packages_url:
        return "mirror"
    return "seed" if seed else "host"


def kubernetes(
    layout: Layout, edge_plan: EdgePlan, supply_plan: SupplyPlan, ceph_plan: CephPlan | None
) -> KubernetesPlan:
    """Return the infrastructure's Kubernetes cluster."""
    site, written, profile = layout.site, layout.site.kubernetes, layout.profile
    free = sum(bool(host.node_labels and not host.node_taints) for host in layout.hosts.values())
    driver = (
        csi(ceph_plan, name=STORAGE_CLASS, images=supply_plan.images, nodes=free) if ceph_plan and rbd(layout) else ()
    )
    return planned(
        KubernetesPlan,
        written,
        endpoint_name=f"kubernetes.{site.domain}",
        endpoint_address=edge_plan.address,
        endpoint_port=API_PORT,
        api_port=PORTS["api-server"].port,
        # kubeadm's rule: the tenth address of the Service network.
        dns_address=nth_of(written.service_cidr, min(10, IPv4Network(written.service_cidr).num_addresses - 2)),
        cni=cni(
            name=written.cni or profile.cni,
            backend=written.cni_backend,
            underlay_mtu=layout.underlay.mtu,
            pod_cidr=written.pod_cidr,
            api=(edge_plan.address, API_PORT),
            images=supply_plan.images,
            nodes=sum(bool(host.node_labels) for host in layout.hosts.values()),
        ),
        first_control=edge_plan.hosts[0] if edge_plan.hosts else "",
        etcd_members=len(edge_plan.hosts),
        storage_class=STORAGE_CLASS,
        storage_backend=site.storage.general,
        storage_charts=versions.RBD.chart if driver else None,
        storage_releases=driver,
        kubelet={**profile.kubelet, **written.kubelet},
        ignore_preflight=tuple(
            profile.ignore_preflight if written.ignore_preflight is None else written.ignore_preflight
        ),
        image_repository=f"{supply_plan.registry}/kubernetes",
        control_addresses=tuple(host.address for host in layout.with_role("control")),
        edge_ports=tuple(sorted(one.node_port for one in edge_plan.endpoints if one.node_port)),
    )


def edge(layout: Layout) -> EdgePlan:
    """Return the virtual IP and the public APIs of the site's services."""
    site, network = layout.site, layout.management
    numbers = {member.name: member.number or 0 for member in layout.members}
    control = sorted(layout.with_role("control"), key=lambda host: (numbers[host.name], host.name))
    racks = layout.written[network.name].racks
    segment = racks[control[0].rack].cidr if control and control[0].rack in racks else network.cidr
    address = site.edge.address or nth_of(segment, 2)
    endpoints = []
    for name in dict.fromkeys(site.openstack.services):
        for api in RECORDS[name].apis if name in RECORDS else ():
            fqdn = f"{api.host}.{site.domain}"
            endpoints.append(
                EndpointPlan(
                    service=name,
                    type=api.type,
                    name=fqdn,
                    url=f"https://{fqdn}{api.path}",
                    node_port=api.node_port,
                    health_path=api.health,
                    in_catalog=api.in_catalog,
                    clients=_clients(layout, api),
                    internal=api.for_hosts or api.for_operators,
                    servers={one.name: f"{one.address}:{api.port}" for one in layout.with_role(api.role)}
                    if api.role
                    else {},
                )
            )
    router_id = site.edge.router_id or int(address.rpartition(".")[2]) or 1
    return EdgePlan(
        kind=site.edge.kind,
        address=address,
        network=network.name,
        prefix=int(segment.partition("/")[2]),
        router_id=router_id,
        public=_public(layout, router_id),
        hosts=tuple(host.name for host in control),
        endpoints=tuple(endpoints),
        certificate=trust.certificate(site),
        public_root=trust.public_root(site),
    )


def _public(layout: Layout, router_id: int) -> PublicPlan | None:
    """Return the virtual IP for users; None without a network for it. ``router_id``: of the other virtual IP."""
    networks = layout.by_purpose("public")
    if not networks:
        return None
    network, control = networks[0], layout.with_role("control")
    racks = layout.written[network.name].racks
    rack = control[0].rack if control and control[0].rack in racks else ""
    segment = racks[rack].cidr if rack else network.cidr
    address = layout.site.edge.public or nth_of(segment, 2)
    number = int(address.rpartition(".")[2]) or 1
    return PublicPlan(
        address=address,
        network=network.name,
        cidr=segment,
        gateway=gateway_of(layout, network.name, rack),
        router_id=number if number != router_id else number % 255 + 1,
    )


def _clients(layout: Layout, api: PublicApi) -> tuple[str, ...]:
    """Return the networks that may ask ``api`` at its public name; none: any may."""
    operators = layout.site.edge.operators
    if api.for_operators and operators is not None:
        return tuple(dict.fromkeys((*_readers(layout), *operators)))
    return _readers(layout) if api.for_hosts else ()


def openstack(layout: Layout) -> OpenStackPlan:
    """Return the cloud. Its releases have no values yet: `compose` makes them from the whole plan."""
    written = layout.site.openstack
    charts = {**versions.nearest_openstack(written.release).charts, **written.chart_versions}
    wanted = dict.fromkeys((*(record.name for record in of_kind("infrastructure")), *written.services))
    releases = [
        ReleasePlan(
            name=name,
            chart=name,
            version=charts[name],
            namespace=written.namespace,
            needs=needs(RECORDS[name]),
            verify=name,
            values={},
            slowness=RECORDS[name].slowness,
        )
        for name in wanted
        if name in RECORDS and wanted.keys() >= set(RECORDS[name].needs)
    ]
    return planned(
        OpenStackPlan,
        written,
        services=tuple(dict.fromkeys(written.services)),
        releases=(*releases, *extra.releases(layout.site, [one.name for one in releases])),
        extra_releases=extra.plans(layout.site),
        images=tuple(dict.fromkeys(image for one in releases for image in RECORDS[one.name].images.values())),
        scale=_scale(layout),
        cpu_share=_cpu_share(layout),
        dns=planned(DnsPlan, written.dns),
        hypervisor_failure=written.hypervisor_failure and planned(FailurePlan, written.hypervisor_failure),
        replicas={name: size for name, size in written.replicas.model_dump().items() if size is not None},
        quotas={**quotas.defaults(layout.site.profile), **written.quotas.model_dump(exclude_none=True)},
        workers={name: count for name, count in written.workers.model_dump().items() if count is not None},
        overrides={name: override.values for name, override in written.overrides.items()},
    )


def _scale(layout: Layout) -> Scale:
    """Return the scale by the fewest cores and the least memory of the cloud's machines."""
    machines = _machines(layout) or [_expected(layout)]
    return scale(min(one.cores for one in machines), min(one.memory_gb for one in machines))


def _cpu_share(layout: Layout) -> float:
    """Return cores of the smallest machine of the cloud / cores of the profile's control host; at most 1."""
    return min([1.0, *(one.cores / _expected(layout).cores for one in _machines(layout))])


def _machines(layout: Layout) -> list[Hardware]:
    known = {host.hardware for host in layout.hosts.values() if host.node_labels.get(CONTROL_LABEL) == "enabled"}
    return [layout.hardware[name] for name in known if name in layout.hardware]


def _expected(layout: Layout) -> Hardware:
    return layout.hardware[ROLES["control"].hardware[layout.site.profile]]
