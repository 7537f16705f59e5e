"""The infrastructure's own cluster: whom it is for, and what it must not go without (A3, A6)."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network

from ..draft import Draft
from ..types import Finding

_NODE_POD_PREFIX = 24  # what the controller manager hands each node


def check(draft: Draft) -> Iterator[Finding]:
    """Yield findings about the cluster."""
    written, plan = draft.site.kubernetes, draft.plan.kubernetes
    production = draft.layout.profile.production
    if written.serves == "tenants":
        yield Finding(
            name="openstack-on-tenant-cluster",
            severity="error",
            where=("kubernetes.serves",),
            what="OpenStack is to run on a cluster that is for tenants",
            why="who has a kubeconfig there has the cloud's database, its keys and every other tenant (A6, A7)",
            remedy="leave serves out; tenants' clusters are made on top of the cloud",
        )
    if plan.cni.name != "flannel" and draft.site.supply.source == "build":
        yield Finding(
            name="cni-not-built",
            severity="error",
            where=("kubernetes.cni", "supply.source"),
            what=f"{plan.cni.name} cannot be built from packages",
            why="its images would be missing from the registry, and no pod would get an address",
            remedy="write cni: flannel, or supply.source: upstream or registry",
        )
    nodes = sum(bool(host.node_labels) for host in draft.plan.hosts.values())
    pods = IPv4Network(plan.pod_cidr)
    room = max(0, 2 ** (_NODE_POD_PREFIX - pods.prefixlen)) if pods.prefixlen <= _NODE_POD_PREFIX else 0
    if nodes > room:
        yield Finding(
            name="pod-network-too-small",
            severity="error",
            where=("kubernetes.pod_cidr",),
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
                yield Finding(
                    name=f"no-{field.replace('_', '-')}",
                    severity="warning",
                    where=(f"kubernetes.{field}",),
                    what=f"{field} is off",
                    why=why,
                    remedy="leave it out: it is on by default",
                )
    for field, name in (("failSwapOn", "swap"), ("failCgroupV1", "cgroup v1")):
        if production and written.kubelet.get(field) is False:
            yield Finding(
                name="kubelet-check-off",
                severity="warning",
                where=(f"kubernetes.kubelet.{field}",),
                what=f"the kubelet accepts {name}",
                why="memory limits do not hold there, and a starved pod takes its neighbours with it",
                remedy="leave it out, and correct the hosts",
            )
