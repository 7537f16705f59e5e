"""The infrastructure's cluster: its users, networks, and settings required in production."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network

from ..form import error, info, warning
from ..layout.context import PlanContext
from ..platform.versions import POD_NETWORKS
from ..types import Finding

_NODE_POD_PREFIX = 24  # pod network of each node, as the controller manager allots it
_SERVICES = (12, 28)  # prefix lengths that kubeadm accepts: at most 20 bits, at least 10 addresses


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about the cluster."""
    written, plan = context.site.kubernetes, context.plan.kubernetes
    production = context.layout.profile.production
    if written.serves == "tenants":
        yield error("openstack-on-tenant-cluster", "kubernetes.serves")(
            what="OpenStack is to run on a cluster that is for tenants",
            why="who has a kubeconfig there has the cloud's database, its keys and every other tenant",
            remedy="leave serves out; tenants' clusters are made on top of the cloud",
        )
    yield from _pod_network(context)
    inner, outer = f".{plan.dns_domain}.", f".{context.site.domain}."
    if inner in outer or outer in inner:
        yield error("dns-domain-meets-domain", "kubernetes.dns_domain", "domain")(
            what=f"{plan.dns_domain}, the domain of Services, and {context.site.domain} of the site meet",
            why="CoreDNS answers for all of its domain, so pods would not find the site's names, or Services",
            remedy="leave kubernetes.dns_domain out (cluster.local), or write one that is no part of domain",
        )
    services = IPv4Network(plan.service_cidr)
    if not _SERVICES[0] <= services.prefixlen <= _SERVICES[1]:
        yield error("service-network-size", "kubernetes.service_cidr")(
            what=f"{services} is too {'large' if services.prefixlen < _SERVICES[0] else 'small'} for Services",
            why="kubeadm refuses it, when the hosts are made already",
            remedy=f"write a network from /{_SERVICES[0]} to /{_SERVICES[1]}",
        )
    nodes = sum(bool(host.node_labels) for host in context.plan.hosts.values())
    pods = IPv4Network(plan.pod_cidr)
    room = max(0, 2 ** (_NODE_POD_PREFIX - pods.prefixlen)) if pods.prefixlen <= _NODE_POD_PREFIX else 0
    if nodes > room:
        yield error("pod-network-too-small", "kubernetes.pod_cidr")(
            what=f"{pods} has room for {room} nodes of a /{_NODE_POD_PREFIX} each, and there are {nodes}",
            why="the last nodes would stay without addresses for their pods, and NotReady",
            remedy="write a wider pod_cidr",
        )
    if production:
        for field, on, why in (
            ("audit", plan.audit, "who did what to the cloud's control plane cannot be told afterwards"),
            (
                "encrypt_secrets",
                plan.encrypt_secrets,
                "a copy of etcd, or of its backup, holds every password in clear text",
            ),
        ):
            if not on:
                yield warning(f"no-{field.replace('_', '-')}", f"kubernetes.{field}")(
                    what=f"{field} is off",
                    why=why,
                    remedy="leave it out: it is on by default",
                )
    for field, name in (("failSwapOn", "swap"), ("failCgroupV1", "cgroup v1")):
        if production and written.kubelet.get(field) is False:
            yield warning("kubelet-check-off", f"kubernetes.kubelet.{field}")(
                what=f"the kubelet accepts {name}",
                why="memory limits do not hold there, and a starved pod takes its neighbours with it",
                remedy="leave it out, and correct the hosts",
            )


def _pod_network(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about the pod network: missing features, and images that are not built here."""
    site, cni = context.site, context.plan.kubernetes.cni
    if cni.name != "flannel" and site.supply.source == "build":
        yield info("cni-not-built", "kubernetes.cni", "supply.source")(
            what=f"{cni.name}'s images are not built here: supply fetches what its project publishes",
            why="without them no pod gets an address; what cannot be fetched stops the supply layer, before any host",
            remedy="let the control node reach the addresses in supply.lock, or write cni: flannel",
        )
    if cni.backend != "host-gw" and cni.port is None:
        able = sorted(name for name, record in POD_NETWORKS.items() if cni.backend in record.tunnels)
        yield error("cni-backend-unknown", "kubernetes.cni_backend", "kubernetes.cni")(
            what=f"{cni.name} has no {cni.backend}",
            why="pods on different nodes would not reach each other",
            remedy=f"write cni_backend: vxlan, or cni: {' or '.join(able)}",
        )
    fixed = sorted(set(site.supply.images) & (set(POD_NETWORKS["calico"].images) - {"calico-operator"}))
    if cni.name == "calico" and fixed:
        yield error("image-not-replaceable", *tuple(f"supply.images.{name}" for name in fixed))(
            what=f"Calico's operator names {', '.join(fixed)} itself",
            why="the references written here would be ignored",
            remedy="leave them out; calico-operator may be replaced, and brings its own versions of the others",
        )
