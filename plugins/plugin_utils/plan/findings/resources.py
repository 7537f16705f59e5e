"""Resources of `cloud:`: names that nobody knows or two have, networks that cannot be, flavors too large."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from ipaddress import ip_address, ip_network
from itertools import combinations
from typing import Any

from ...layers.runtime import NOT_OFFERED
from ..form import choose, error
from ..layout.context import PlanContext
from ..model.cloud import CloudProject, CloudResources, CloudSubnet
from ..platform.resources import OWN_DOMAIN, roles
from ..types import Finding
from .directories import administers

ROLES = ("reader", "member", "manager", "admin", "service", "load-balancer_member", "load-balancer_observer")
_SERVICES = {  # first word of a key below cloud, or of a project's -> service
    "quotas.compute": "nova", "quotas.volume": "cinder", "quotas.network": "neutron", "networks": "neutron",
    "routers": "neutron", "security_groups": "neutron", "dns_zones": "designate", "flavors": "nova",
    "aggregates": "nova", "images": "glance", "volume_qos": "cinder", "volume_types": "cinder",
    "address_scopes": "neutron", "subnet_pools": "neutron", "qos_policies": "neutron",
}  # fmt: skip


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about the resources of the site file."""
    cloud = context.site.cloud
    if not context.plan.resources:
        return
    yield from _services(context, cloud)
    yield from _names(context, cloud)
    yield from _alike(context)
    yield from _shared_secrets(context)
    yield from _roles(context, cloud)
    for name, project in cloud.projects.items():
        yield from _networks(cloud, f"cloud.projects.{name}", project)
    yield from _flavors(context, cloud)
    yield from _devices(cloud)
    yield from _hosts(context, cloud)


def _services(context: PlanContext, cloud: CloudResources) -> Iterator[Finding]:
    there = context.plan.openstack.services
    used = {f"cloud.{key}": service for key, service in _SERVICES.items() if getattr(cloud, key, None)}
    for name, project in cloud.projects.items():
        for key, service in _SERVICES.items():
            part, _, inner = key.partition(".")
            value = getattr(project, part, None)
            if getattr(value, inner) if inner and value else value:
                used[f"cloud.projects.{name}.{key}"] = service
    secret = {f"cloud.volume_types.{name}.encryption" for name, one in cloud.volume_types.items() if one.encryption}
    trusted = {
        f"cloud.{kind}.{name}.{part}"
        for kind, part, word in (("flavors", "extra_specs", "hw:tpm_"), ("images", "properties", "hw_tpm_"))
        for name, one in getattr(cloud, kind).items()
        if any(key.startswith(word) for key in getattr(one, part))
    }
    used |= dict.fromkeys((*secret, *trusted), "barbican")
    reasons = dict.fromkeys(secret, "nobody would keep the keys of such volumes")
    reasons |= dict.fromkeys(trusted, "nobody would keep what unlocks it: no instance would find a host")
    if context.plan.resources and "keystone" not in there:
        used["cloud"] = "keystone"
    for key, service in used.items():
        if service not in there:
            yield error("cloud-without-service", key, "openstack.services")(
                what=f"{'TPM' if key in trusted else key.rpartition('.')[2]} without {service}",
                why=reasons.get(key, "nothing would make them"),
                remedy=f"write {service} into openstack.services, or leave them out",
            )


def _names(context: PlanContext, cloud: CloudResources) -> Iterator[Finding]:
    """Yield what is named and is nowhere."""
    domains = [OWN_DOMAIN, *cloud.domains, *context.site.identity.domains, *(
        one.domain for one in context.plan.identity.providers)]  # fmt: skip
    external = [one.name for one in context.layout.by_purpose("provider")]
    every = [item for each in cloud.projects.values() for item in each.networks.items()]
    networks = [*external, *(net for net, one in every if one.physical_network)]
    pools = [*cloud.subnet_pools, *(["tenants"] if context.plan.ovn.subnet_pool else [])]
    named = list[tuple[str, str | None, Iterable[str]]]()
    for name, kind in cloud.volume_types.items():
        named.append((f"cloud.volume_types.{name}.qos", kind.qos, cloud.volume_qos))
        named += [(f"cloud.volume_types.{name}.projects", one, cloud.projects) for one in kind.projects]
    for name, flavor in cloud.flavors.items():
        named += [(f"cloud.flavors.{name}.projects", one, cloud.projects) for one in flavor.projects]
    named += [(f"cloud.images.{name}.project", one.project, cloud.projects) for name, one in cloud.images.items()]
    named += [(f"cloud.subnet_pools.{name}.scope", one.scope, cloud.address_scopes)
              for name, one in cloud.subnet_pools.items()]  # fmt: skip
    for name, project in cloud.projects.items():
        key = f"cloud.projects.{name}"
        named.append((f"{key}.domain", project.domain, domains))
        named += [(f"{key}.networks.{net}.qos", one.qos, cloud.qos_policies) for net, one in project.networks.items()]
        subnets = [label for one in project.networks.values() for label in one.subnets]
        for net, network in project.networks.items():
            named += [(f"{key}.networks.{net}.subnets.{label}.pool", one.pool, pools)
                      for label, one in network.subnets.items()]  # fmt: skip
        for label, router in project.routers.items():
            named.append((f"{key}.routers.{label}.external", router.external, networks))
            named += [(f"{key}.routers.{label}.subnets", one, subnets) for one in router.subnets]
        for label, group in project.security_groups.items():
            named += [(f"{key}.security_groups.{label}.rules[{n}].group", rule.group, project.security_groups)
                      for n, rule in enumerate(group.rules)]  # fmt: skip
    for key, name_, known in named:
        if name_ is not None and name_ not in (choices := list(known)):
            yield error("cloud-name-unknown", key)(
                what=f"{name_}: nothing has this name", why="what refers to it cannot be made",
                remedy=choose(name_, choices),
            )  # fmt: skip


def _alike(context: PlanContext) -> Iterator[Finding]:
    """Yield names that are one to the API: Keystone's without regard to case, subnets of a project."""
    seen: dict[tuple[str, str, str], str] = {}
    for name in context.site.identity.domains:
        seen["domain", "", name.casefold()] = f"identity.domains.{name}"
    for one in (OWN_DOMAIN, "service", "heat", "magnum"):
        seen["domain", "", one.casefold()] = "the cloud's own"
    seen |= {("project", OWN_DOMAIN.casefold(), one): "the cloud's own" for one in ("admin", "service")}
    if context.plan.ovn.subnet_pool:
        seen["subnet_pool", "", "tenants"] = "ovn.subnet_pool"
    for one_ in context.plan.resources:
        place = one_.place or (one_.domain if one_.kind in ("project", "group", "account") else "")
        keystone = one_.kind in ("domain", "project", "group", "account", "role", "dns_zone")
        key = one_.kind, place.casefold(), one_.name.casefold() if keystone else one_.name
        if one_.kind == "security_group" and one_.name == "default":
            seen.setdefault(key, "Neutron's own")
        if (first := seen.setdefault(key, one_.key)) != one_.key:
            yield error("cloud-name-twice", one_.key)(
                what=f"{one_.name}: {first} has this name", why="the cloud would take both for one",
                remedy="write another name",
            )  # fmt: skip


def _shared_secrets(context: PlanContext) -> Iterator[Finding]:
    """Yield accounts whose secrets have one name in the store: it has no blanks and capitals, as projects have."""
    seen: dict[str, str] = {}
    for one in context.plan.resources:
        if one.kind == "account" and (first := seen.setdefault(one.values["password"]["$secret"], one.key)) != one.key:
            yield error("cloud-secret-twice", one.key)(
                what=f"{one.name}: its password in the store is that of {first}",
                why="who knows one project's secrets would know the other's", remedy="write another name here",
            )  # fmt: skip


def _roles(context: PlanContext, cloud: CloudResources) -> Iterator[Finding]:
    known = [*ROLES, *cloud.roles]
    alike = {one.casefold() for one in known}
    used: list[tuple[str, str, str | None, str]] = []
    used += [(f"cloud.domains.{name}.roles[{n}].role", one.role, None, name)
            for name, domain in cloud.domains.items() for n, one in enumerate(domain.roles)]  # fmt: skip
    for name, project in cloud.projects.items():
        used += [(f"cloud.projects.{name}.roles[{n}].role", one.role, name, project.domain)
                 for n, one in enumerate(project.roles)]  # fmt: skip
        used += [(f"cloud.projects.{name}.credentials.{label}.roles", role, name, project.domain)
                 for label, one in project.credentials.items() for role in one.roles]  # fmt: skip
        if project.credentials and project.domain in context.site.identity.domains:
            yield error("cloud-account-in-directory", f"cloud.projects.{name}.credentials")(
                what=f"accounts in domain {project.domain}, whose users are a directory's",
                why="Keystone writes nothing into a directory",
                remedy="put the project into a domain of `cloud.domains`, or leave credentials out",
            )
    for key, role, place, domain_ in used:
        if role.casefold() not in alike:
            yield error("cloud-role-unknown", key, "cloud.roles")(
                what=f"the role {role}, which is neither Keystone's nor one of cloud.roles",
                why="nobody can be given it", remedy=choose(role, known),
            )  # fmt: skip
        yield from administers(key, "members", role, project=place, domain=domain_)
    kept = {**{name: domain.groups for name, domain in cloud.domains.items()}}
    for name, given in roles(context.site).items():
        for one_ in given:
            if name in kept and one_.group not in kept[name]:
                yield error("cloud-group-unknown", f"cloud.domains.{name}.groups")(
                    what=f"a role for the group {one_.group}, which domain {name} does not have",
                    why="nobody would get it", remedy=choose(one_.group, kept[name]),
                )  # fmt: skip


def _networks(cloud: CloudResources, key: str, project: CloudProject) -> Iterator[Finding]:
    where = {label: (f"{key}.networks.{net}.subnets.{label}", one)
             for net, network in project.networks.items() for label, one in network.subnets.items()}  # fmt: skip
    for place, one in where.values():
        yield from _subnet(cloud, place, one)
    together = [list(network.subnets) for network in project.networks.values()]
    together += [[name for name in router.subnets if name in where] for router in project.routers.values()]
    told = set[tuple[str, str]]()
    for names in together:
        for first, second in combinations(dict.fromkeys(names), 2):
            mine, other = where[first][1].cidr, where[second][1].cidr
            if mine and other and (first, second) not in told and _overlap(mine, other):
                told.add((first, second))
                yield error("cloud-subnets-overlap", f"{where[second][0]}.cidr", f"{where[first][0]}.cidr")(
                    what=f"{other} of {second} overlaps {mine} of {first}, and both are on one network or router",
                    why="Neutron refuses the second", remedy="write another network, or another router",
                )  # fmt: skip


def _subnet(cloud: CloudResources, key: str, one: CloudSubnet) -> Iterator[Finding]:
    if not one.cidr:
        return
    net = ip_network(one.cidr)
    prefixes = cloud.subnet_pools[one.pool].prefixes if one.pool in cloud.subnet_pools else []
    if prefixes and not any(_within(one.cidr, prefix) for prefix in prefixes):
        yield error("cloud-subnet-outside-pool", f"{key}.cidr", f"cloud.subnet_pools.{one.pool}.prefixes")(
            what=f"{one.cidr} is outside {', '.join(prefixes)} of pool {one.pool}", why="Neutron refuses it",
            remedy="write a network of the pool, or leave cidr out to get the next free one",
        )  # fmt: skip
    ends = [end for pair in one.ranges for end in pair.split("-")]
    outside = [ip for ip in (*ends, *([one.gateway] if one.gateway not in (None, "none") else []))
               if ip_address(ip).version != net.version or ip_address(ip) not in net]  # fmt: skip
    if outside:
        yield error("cloud-address-outside-subnet", key)(
            what=f"{', '.join(outside)} outside {one.cidr}", why="Neutron refuses it",
            remedy="write addresses of the subnet",
        )  # fmt: skip


def _flavors(context: PlanContext, cloud: CloudResources) -> Iterator[Finding]:
    """Yield flavors that no hypervisor has room for, even empty."""
    kinds = {host.hardware for host in context.layout.with_role("hypervisor")}
    room = [(one.cores - one.compute.reserved_cores, one.compute.cpu_allocation_ratio,
             (one.memory_gb - one.compute.reserved_memory_gb) * 1024 * one.compute.ram_allocation_ratio)
            for name in kinds if (one := context.layout.hardware.get(name))]  # fmt: skip
    if any(memory <= 0 for _, _, memory in room):
        return  # the profile has a test's least, not what there is
    for name, flavor in cloud.flavors.items() if room else ():
        if not any(flavor.vcpus <= cores * ratio and flavor.memory_mb <= memory for cores, ratio, memory in room):
            largest = max(room, key=lambda one: one[2])
            yield error("cloud-flavor-too-large", f"cloud.flavors.{name}", "machines")(
                what=f"{flavor.vcpus} cores and {flavor.memory_mb} MiB: the largest hypervisor has "
                f"{int(largest[0] * largest[1])} and {int(largest[2])} for instances",
                why="no instance of it could ever start", remedy="make it smaller, or add larger hypervisors",
            )  # fmt: skip


def _devices(cloud: CloudResources) -> Iterator[Finding]:
    """Yield flavors and images that ask for what hypervisors do not offer."""
    asked = [(f"cloud.flavors.{name}.extra_specs", one.extra_specs, ":") for name, one in cloud.flavors.items()]
    asked += [(f"cloud.images.{name}.properties", one.properties, "_") for name, one in cloud.images.items()]
    for key, given, colon in asked:
        for spec, what in NOT_OFFERED.items():
            word, _, value = spec.replace(":", colon).partition("=")
            if word in given and value in ("", given[word]):
                yield error("cloud-device-not-offered", key)(
                    what=f"{word}: hypervisors offer no {what}", why="no instance of it would find a host",
                    remedy=f"leave {word} out (docs/support.md, instances)",
                )  # fmt: skip


def _hosts(context: PlanContext, cloud: CloudResources) -> Iterator[Finding]:
    known = [host.name for host in context.layout.with_role("hypervisor")]
    zones: dict[str, dict[str, str]] = defaultdict(dict)
    for host in context.layout.with_role("hypervisor"):
        if host.zone:
            zones[host.name][host.zone] = "its zone"
    for name, one in cloud.aggregates.items():
        for host_ in one.hosts:
            if host_ not in known:
                yield error("cloud-host-unknown", f"cloud.aggregates.{name}.hosts")(
                    what=f"{host_} is no hypervisor of the site", why="Nova refuses it", remedy=choose(host_, known),
                )  # fmt: skip
            if one.zone:
                zones[host_][one.zone] = name
    for host_, where in zones.items():
        if len(where) > 1:
            keys = [f"cloud.aggregates.{name}.zone" for name in where.values() if name in cloud.aggregates]
            yield error("cloud-host-in-two-zones", *keys)(
                what=f"{host_} is in {' and '.join(where)}", why="a host has one availability zone",
                remedy="take it out of one aggregate, or take its zone out",
            )  # fmt: skip


def _overlap(one: Any, other: Any) -> bool:
    return bool(ip_network(one).overlaps(ip_network(other)))


def _within(inner: str, outer: str) -> bool:
    one, other = ip_network(inner), ip_network(outer)
    return one.version == other.version and bool(one.subnet_of(other))  # type: ignore[arg-type]
