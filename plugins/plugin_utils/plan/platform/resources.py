"""Resources of the cloud, from the site file's form into that of their APIs. A reference stands for an id."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_network
from typing import Any

from ..model import Site
from ..model.cloud import (
    CloudCredential,
    CloudNetwork,
    CloudProject,
    CloudResources,
    CloudRole,
    CloudSubnet,
    SecurityGroup,
    Switched,
)
from ..model.cloud_types import ICMP
from ..part_types import ResourcePlan, RolePlan

OWN_DOMAIN = "Default"
_ANY = {4: "IPv4", 6: "IPv6"}
_ICMP_OF_IPV6 = {"icmp": "ipv6-icmp", "icmpv6": "ipv6-icmp", "1": "58"}  # Neutron's own names (securitygroups_db)


def resources(site: Site) -> tuple[ResourcePlan, ...]:
    """Return the resources of the site file: the engine knows in which order they are made."""
    return of_cloud(site.cloud)


def of_cloud(cloud: CloudResources) -> tuple[ResourcePlan, ...]:
    more = (one for name, project in cloud.projects.items() for one in _of_project(name, project))
    return (*_identity(cloud), *_shared(cloud), *more)


def roles(site: Site) -> dict[str, tuple[RolePlan, ...]]:
    """Return the roles of groups on domains and projects of the file, by the domain of the group."""
    found: dict[str, dict[RolePlan, None]] = {name: {} for name in site.cloud.domains}

    def add(one: CloudRole, domain: str, project: str | None) -> None:
        role = RolePlan(group=one.group, role=one.role, project=project, domain=domain)
        found.setdefault(one.group_domain or domain, {})[role] = None

    for name, domain in site.cloud.domains.items():
        for one in domain.roles:
            add(one, name, None)
    for name, project in site.cloud.projects.items():
        for one in project.roles:
            add(one, project.domain, name)
    return {name: tuple(given) for name, given in found.items()}


def reference(kind: str, name: str) -> dict[str, str]:
    """Return what stands for the id of a resource: of the same place, else of the cloud."""
    return {"$id": kind, "name": name}


def secret(project: str, name: str, what: str) -> str:
    """Return the name of a secret of a program's account."""
    return f"cloud/{re.sub('[^a-z0-9_.-]', '-', project.lower()).strip('-.') or 'project'}/{name}-{what}"


def _identity(cloud: CloudResources) -> Iterator[ResourcePlan]:
    for name, domain in cloud.domains.items():
        yield _one("domain", name, f"domains.{name}", _written(domain))
    for name, role in cloud.roles.items():
        yield _one("role", name, f"roles.{name}", {"description": role.description})
    for name, project in cloud.projects.items():
        limits = {service: dict(limit) for service, limit in project.quotas if limit}
        yield _one(
            "project", name, f"projects.{name}", _written(project),
            domain=project.domain, parts={"quotas": limits} if limits else {},
        )  # fmt: skip
    for name, domain in cloud.domains.items():
        for group, one in domain.groups.items():
            values = {"description": one.description}
            yield _one("group", group, f"domains.{name}.groups.{group}", values, domain=name)


def _shared(cloud: CloudResources) -> Iterator[ResourcePlan]:
    values: dict[str, Any]
    parts: dict[str, Any]
    for name, flavor in cloud.flavors.items():
        values = {
            "description": flavor.description, "vcpus": flavor.vcpus, "ram": flavor.memory_mb, "disk": flavor.disk_gb,
            "OS-FLV-EXT-DATA:ephemeral": flavor.ephemeral_gb, "swap": flavor.swap_mb,
            "os-flavor-access:is_public": not flavor.projects,
        }  # fmt: skip
        parts = {"extra_specs": dict(flavor.extra_specs), "access": _projects(flavor.projects)}
        yield _one("flavor", name, f"flavors.{name}", values, parts=parts)
    for name, qos in cloud.volume_qos.items():
        values = {"consumer": qos.consumer}
        yield _one("volume_qos", name, f"volume_qos.{name}", values, parts={"specs": dict(qos.specs)})
    for name, kind in cloud.volume_types.items():
        backend = {"volume_backend_name": kind.backend} if kind.backend else {}
        encryption = kind.encryption and {
            "provider": kind.encryption.provider, "cipher": kind.encryption.cipher,
            "key_size": kind.encryption.key_size, "control_location": kind.encryption.location,
        }  # fmt: skip
        parts = {
            "extra_specs": {**backend, **kind.extra_specs},
            **({"access": _projects(kind.projects)} if kind.projects else {}),
            "qos": reference("volume_qos", kind.qos) if kind.qos else None, "encryption": encryption or {},
        }  # fmt: skip
        private = {"os-volume-type-access:is_public": False} if kind.projects else {}
        values = {"description": kind.description, **private}
        yield _one("volume_type", name, f"volume_types.{name}", values, parts=parts)
    for name, aggregate in cloud.aggregates.items():
        parts = {"metadata": dict(aggregate.metadata), "hosts": sorted(set(aggregate.hosts))}
        yield _one("aggregate", name, f"aggregates.{name}", {"availability_zone": aggregate.zone}, parts=parts)
    for name, image in cloud.images.items():
        values = {
            "disk_format": image.format, "container_format": "bare",
            **({"visibility": image.visibility} if image.visibility else {}), "min_disk": image.min_disk_gb,
            "min_ram": image.min_memory_mb, "groundup_sha256": image.sha256,
            **({"description": image.description} if image.description else {}), **image.properties,
        }  # fmt: skip
        parts = {"content": {"source": image.source, "sha256": image.sha256}}
        parts |= {} if image.enabled is None else {"active": image.enabled}
        domain = _domain(cloud, image.project)
        yield _one("image", name, f"images.{name}", values, place=image.project or "", domain=domain, parts=parts)
    for name, scope in cloud.address_scopes.items():
        values = {"ip_version": scope.version, "shared": scope.shared}
        yield _one("address_scope", name, f"address_scopes.{name}", values)
    for name, pool in cloud.subnet_pools.items():
        values = {
            "description": pool.description, "prefixes": list(pool.prefixes), "default_prefixlen": pool.prefix,
            "shared": pool.shared,
            "address_scope_id": reference("address_scope", pool.scope) if pool.scope else None,
        }  # fmt: skip
        yield _one("subnet_pool", name, f"subnet_pools.{name}", values)
    for name, policy in cloud.qos_policies.items():
        rules = [
            {"type": "bandwidth_limit", "direction": direction, "max_kbps": limit}
            for direction, limit in (("ingress", policy.kbps_in), ("egress", policy.kbps_out)) if limit is not None
        ]  # fmt: skip
        rules += [{"type": "dscp_marking", "dscp_mark": policy.dscp}] if policy.dscp is not None else []
        values = {"description": policy.description, "shared": policy.shared}
        yield _one("qos_policy", name, f"qos_policies.{name}", values, parts={"rules": rules})


def _of_project(name: str, project: CloudProject) -> Iterator[ResourcePlan]:
    def one(kind: str, label: str, key: str, values: dict[str, Any], **parts: Any) -> ResourcePlan:
        where = f"projects.{name}.{key}"
        return _one(kind, label, where, values, place=name, domain=project.domain, parts=parts)

    for label, network in project.networks.items():
        yield one("network", label, f"networks.{label}", _network(network))
        for own, subnet in network.subnets.items():
            yield one("subnet", own, f"networks.{label}.subnets.{own}", _subnet(label, subnet))
    values: dict[str, Any]
    for label, group in project.security_groups.items():
        values = {"description": group.description}
        yield one("security_group", label, f"security_groups.{label}", values, rules=_rules(group))
    for label, router in project.routers.items():
        gateway = {"network_id": reference("network", router.external)} if router.external else None
        values = {**_written(router, "admin_state_up"), "external_gateway_info": gateway}
        joined = [reference("subnet", subnet) for subnet in router.subnets]
        yield one("router", label, f"routers.{label}", values, interfaces=joined)
    for label, zone in project.dns_zones.items():
        values = {"description": zone.description, "email": zone.email, "ttl": zone.ttl}
        yield one("dns_zone", f"{label.rstrip('.')}.", f"dns_zones.{label}", values)
    for label, credential in project.credentials.items():
        yield _account(name, project, label, credential)


def _account(project: str, written: CloudProject, name: str, one: CloudCredential) -> ResourcePlan:
    password = {"$secret": secret(project, name, "password")}
    credential = {
        "name": name, "project": reference("project", project), "roles": sorted(set(one.roles)), "password": password,
        "secret": {"$secret": secret(project, name, "secret")},
    }  # fmt: skip
    values, parts = {**_written(one), "password": password}, {"credential": credential}
    key = f"projects.{project}.credentials.{name}"
    return _one("account", f"{project}-{name}", key, values, domain=written.domain, parts=parts)


def _written(one: Switched, switch: str = "enabled") -> dict[str, Any]:
    """Return description, and ``switch`` if it is written."""
    return {"description": one.description, **({} if one.enabled is None else {switch: one.enabled})}


def _network(one: CloudNetwork) -> dict[str, Any]:
    provider: dict[str, Any] = {}
    if one.physical_network:
        provider = {
            "provider:network_type": "vlan" if one.vlan else "flat",
            "provider:physical_network": one.physical_network,
            **({"provider:segmentation_id": one.vlan} if one.vlan else {}),
        }
    return {
        **_written(one, "admin_state_up"), "shared": one.shared, "port_security_enabled": one.port_security,
        "qos_policy_id": reference("qos_policy", one.qos) if one.qos else None,
        **({"mtu": one.mtu} if one.mtu else {}), **provider,
    }  # fmt: skip


def _subnet(network: str, one: CloudSubnet) -> dict[str, Any]:
    version = ip_network(one.cidr).version if one.cidr else 4
    chosen: dict[str, Any] = {"cidr": one.cidr} if one.cidr else {}
    if one.pool:
        chosen["subnetpool_id"] = reference("subnet_pool", one.pool)
    if one.prefix:
        chosen["prefixlen"] = one.prefix
    if one.gateway:
        chosen["gateway_ip"] = None if one.gateway == "none" else one.gateway
    if one.dhcp is not None:
        chosen["enable_dhcp"] = one.dhcp
    if one.ranges:
        pairs = (text.partition("-") for text in one.ranges)
        chosen["allocation_pools"] = [{"start": first, "end": last} for first, _, last in pairs]
    if one.ipv6:
        chosen |= {"ipv6_address_mode": one.ipv6, "ipv6_ra_mode": one.ipv6}
    return {
        "description": one.description, "network_id": reference("network", network), "ip_version": version,
        "dns_nameservers": list(one.dns), **chosen,
    }  # fmt: skip


def _rules(group: SecurityGroup) -> list[dict[str, Any]]:
    """Return the rules as Neutron keeps them: it would tell others as another rule, made anew by each run."""
    made = []
    for rule in group.rules:
        ethertype, ports = _ANY[ip_network(rule.cidr).version if rule.cidr else 6 if rule.ipv6 else 4], rule.ports
        protocol = None if rule.protocol == "any" else rule.protocol
        if ethertype == _ANY[6]:
            protocol = _ICMP_OF_IPV6.get(protocol or "", protocol)
        if not ports or ports == [1, 65535]:
            first = last = None
        else:  # a type of ICMP alone is every code of it
            first, last = ports[0], None if protocol in ICMP and len(ports) == 1 else ports[-1]
        made.append({
            "direction": rule.direction,
            "ethertype": ethertype,
            "protocol": protocol,
            "port_range_min": first,
            "port_range_max": last,
            "remote_ip_prefix": rule.cidr,
            "remote_group_id": reference("security_group", rule.group) if rule.group else None,
            "remote_address_group_id": None,
        })  # fmt: skip
    return made


def _projects(names: Iterable[str]) -> list[dict[str, str]]:
    return [reference("project", name) for name in sorted(set(names))]


def _domain(cloud: CloudResources, project: str | None) -> str:
    return cloud.projects[project].domain if project in cloud.projects else OWN_DOMAIN


def _one(
    kind: str, name: str, key: str, values: Mapping[str, Any], *, place: str = "", domain: str = "",
    parts: Mapping[str, Any] | None = None,
) -> ResourcePlan:  # fmt: skip
    return ResourcePlan(
        kind=kind, name=name, key=f"cloud.{key}", place=place, domain=domain, values=dict(values),
        parts=dict(parts or {}),
    )  # fmt: skip
