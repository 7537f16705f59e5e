"""OpenStack services: known, complete, and overrides have a reason."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from ...services import RECORDS, of_kind
from ...services.sizes import sizes
from ..form import choose, error, finding, warning
from ..layout.context import PlanContext
from ..types import Finding


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about the services, their overrides and the virtual IP's router id."""
    wanted = context.plan.openstack.services
    deployed = {release.name for release in context.plan.openstack.releases if not release.is_extra}
    known = [record.name for record in of_kind("service")]
    instead = {record.instead_of: record.name for record in RECORDS.values() if record.instead_of}
    for name in wanted:
        if name not in known:
            yield error("unknown-service", "openstack.services")(
                what=f"there is no service {name}",
                why="nothing would be deployed for it",
                remedy=f"write {instead[name]}: it offers the same API" if name in instead else choose(name, known),
            )
            continue
        missing = [need for need in RECORDS[name].needs if need not in wanted]
        if missing:
            unmet, why = RECORDS[name].unmet
            yield error(unmet, "openstack.services")(
                what=f"{name} is listed without {', '.join(missing)}",
                why=why,
                remedy=f"add: {', '.join(missing)}",
            )
    yield from _advice(context)
    for name, override in context.site.openstack.overrides.items():
        if name not in deployed:
            yield error("override-without-release", f"openstack.overrides.{name}")(
                what=f"there is no release {name}",
                why="the values would have no effect",
                remedy=f"one of: {', '.join(sorted(deployed)) or 'none: no services are listed'}",
            )
        if not override.why:
            yield warning("undocumented-values", f"openstack.overrides.{name}")(
                what=f"values of {name} are overridden without a reason",
                why="at the next upgrade nobody knows whether they may go",
                remedy=f"write openstack.overrides.{name}.why",
            )
    yield from _sources(context)
    yield from _dns(context)
    yield from _router_id(context)


def _sources(context: PlanContext) -> Iterator[Finding]:
    inside = context.plan.kubernetes.dns_domain
    for name in context.plan.openstack.image_sources:
        if "." not in name or f".{name}".endswith((f".{inside}", ".svc", ".localhost")):
            yield error("image-source-inside", "openstack.image_sources")(
                what=f"{name} is a name within the cluster",
                why="whoever may import an image would read what answers there, as Glance's pod",
                remedy="write the whole public name of a host that serves images, such as cloud.debian.org",
            )


def _dns(context: PlanContext) -> Iterator[Finding]:
    """Yield settings of DNS names that have no effect, or would hide the site's own names from instances."""
    dns, services = context.plan.openstack.dns, context.plan.openstack.services
    for key, written, service in (("domain", dns.domain, "neutron"), ("name_servers", dns.name_servers, "designate")):
        if written and service not in services:
            yield error("dns-without-service", f"openstack.dns.{key}", "openstack.services")(
                what=f"{key} is written, and {service} is not among the services",
                why="it would have no effect",
                remedy=f"add {service}, or leave {key} out",
            )
    if dns.name_servers and "pools" in context.plan.openstack.overrides.get("designate", {}).get("conf", {}):
        key = "openstack.overrides.designate.values.conf.pools"
        yield error("dns-pools-twice", key, "openstack.dns.name_servers")(
            what="both name_servers and an own conf.pools are written",
            why="the override wins, and verification would miss the name servers in it at every rollout",
            remedy="leave one of them out",
        )
    own = {context.plan.domain: "of the site", context.plan.kubernetes.dns_domain: "of Services in the cluster"}
    if dns.domain in own:
        yield error("dns-domain-taken", "openstack.dns.domain")(
            what=f"{dns.domain} is the domain {own[dns.domain]}",
            why="an instance could have the name of a server of the cloud, and its neighbours would ask it instead",
            remedy=f"write another, such as instances.{context.plan.domain}",
        )
    elif dns.domain and "." not in dns.domain:
        yield error("dns-domain-taken", "openstack.dns.domain")(
            what=f"{dns.domain} has one label",
            why="Neutron takes openstacklocal for no domain, and resolvers ask nobody for names in others",
            remedy="write the whole domain, such as cloud.example.org",
        )


def _advice(context: PlanContext) -> Iterator[Finding]:
    """Yield the advice in the records of the site's services, and of infrastructure when there are services."""
    plan, size = context.plan, sizes(context.plan)
    infrastructure = [record.name for record in of_kind("infrastructure")] if plan.openstack.services else []
    for name in (*infrastructure, *plan.openstack.services):
        for advice in RECORDS[name].advice if name in RECORDS else ():
            if advice.when(plan, size) and (context.layout.profile.production or not advice.production):
                yield finding(advice.name, advice.severity, advice.where)(
                    what=advice.what.format(profile=plan.profile),
                    why=advice.why,
                    remedy=advice.remedy,
                )


def _router_id(context: PlanContext) -> Iterator[Finding]:
    edge = context.plan.edge
    network = IPv4Network(context.plan.networks[edge.network].cidr)
    if context.site.edge.router_id is None and network.prefixlen < 24 and IPv4Address(edge.address) in network:
        low = int(edge.address.rpartition(".")[2])
        if low == 0:
            yield warning("router-id-guessed", "edge.router_id")(
                what=f"{edge.address} ends in 0: the router id is 1",
                why="another site on the same network may have the same one, and both would fight for the address",
                remedy="write edge.router_id, 1-255, unique on the network",
            )
