"""Defaults in effect: values that the site file omits, by key path."""

from __future__ import annotations

from ...layers.roles import ROLES
from ...layers.storage import BACKENDS
from ...services.sizes import sizes
from ..layout.machines import lay_out
from ..model import Site
from ..platform.ceph import monitors
from ..types import Plan


def defaults(site: Site, plan: Plan) -> dict[str, str]:
    """Return key path -> value for settings that ``plan`` decided because ``site`` omits them."""
    layout, size = lay_out(site), sizes(plan)
    cluster = site.kubernetes
    found: dict[str, tuple[bool, object]] = {
        **{f"networks.{name}.cidr": (name in site.networks, network.cidr) for name, network in plan.networks.items()},
        "edge.address": (site.edge.address is not None, plan.edge.address),
        **({"edge.public": (site.edge.public is not None, plan.edge.public.address)} if plan.edge.public else {}),
        "edge.router_id": (site.edge.router_id is not None, plan.edge.router_id),
        "supply.registry": (site.supply.registry is not None, plan.supply.registry),
        "kubernetes.version": ("version" in cluster.model_fields_set, plan.kubernetes.version),
        "kubernetes.cni": (cluster.cni is not None, plan.kubernetes.cni.name),
        "kubernetes.pod_cidr": ("pod_cidr" in cluster.model_fields_set, plan.kubernetes.pod_cidr),
        "kubernetes.service_cidr": ("service_cidr" in cluster.model_fields_set, plan.kubernetes.service_cidr),
        "storage.volumes": (site.storage.volumes is not None, plan.kubernetes.storage_backend),
        "openstack.release": ("release" in site.openstack.model_fields_set, plan.openstack.release),
        **{
            f"openstack.replicas.{name}": (name in plan.openstack.replicas, members)
            for name, members in {**size.members, "api": size.api}.items()
        },
        **{
            f"openstack.workers.{name}": (name in plan.openstack.workers, count)
            for name, count in size.workers.items()
            if name in plan.openstack.services
        },
        "hosts.updates": (site.hosts.updates is not None, plan.host.updates),
        "hosts.ntp_servers": (bool(site.hosts.ntp_servers), ", ".join(plan.host.ntp_servers) or "the host's own"),
    }
    for name, group, roles in layout.groups():
        found[f"machines.{name}.hardware"] = (group.hardware is not None, ROLES[roles[0]].hardware[site.profile])
    if BACKENDS[site.storage.backend].layer:
        domain = layout.profile.failure_domain
        found["storage.failure_domain"] = (site.storage.failure_domain is not None, domain)
        found["storage.monitors"] = (site.storage.monitors is not None, monitors(layout))
    return {key: str(value) for key, (written, value) in found.items() if not written}
