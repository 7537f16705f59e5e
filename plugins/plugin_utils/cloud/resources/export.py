"""A project of a living cloud as `cloud` of a site file, so that a site takes it over; or as manifests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import ValidationError

from ...errors import GroundupError
from ...plan.model.cloud import CloudResources
from ...plan.model.cloud_types import ICMP
from ...plan.platform.resources import of_cloud
from ..connection import answered
from ..subnet_pool import NAME as TENANTS
from . import orc
from .api import CloudApi
from .export_names import Names
from .kinds import KINDS, SERVICES
from .parts import joined, quota, rules_of

if TYPE_CHECKING:
    from ...plan.types import Plan

_QUOTAS = {"compute": "compute", "block_storage": "volume", "network": "network"}
_LEFT = """\
# Project {name} of domain {domain}, as it is. Not in it: instances, volumes, images (their source is not known), ports,
# floating IPs, users and their roles, application credentials, subnet pools of the project, subnets of others that its
# routers join, rules for address groups or for groups of others. Take it over with
# ansible-playbook groundup.cloud.resources -e '{{"resources_force": ["adopt"]}}'
"""


def text(cloud: Any, plan: Plan, name: str, *, domain: str, form: str) -> str:
    """Return a project of ``cloud`` as YAML, of ``form`` site or orc. Raises GroundupError."""
    with answered(f"project {name}"):
        found = _Exporter(CloudApi(cloud), plan).project(name, domain)
    try:
        resources = of_cloud(CloudResources.model_validate(found))
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_url=False))
        raise GroundupError(
            "; ".join(faults), where=f"project {name}", why="the site file has no form for it",
            remedy="rename it or change it in the cloud, and export again",
        ) from error  # fmt: skip
    if form == "orc":
        return yaml.safe_dump_all(orc.manifests(resources), sort_keys=False)
    return _LEFT.format(name=name, domain=domain) + yaml.safe_dump({"cloud": found}, sort_keys=False)


@dataclass(slots=True)
class _Exporter:
    api: CloudApi
    plan: Plan

    def project(self, name: str, domain: str) -> dict[str, Any]:
        """Return the project in the form of the site file, with what it needs of the cloud."""
        domains = {str(one["id"]): str(one["name"]) for one in self.api.list(KINDS["domain"])}
        within = [identity for identity, own in domains.items() if own.casefold() == domain.casefold()]
        mine = [one for one in self.api.list(KINDS["project"]) if one["name"] == name and one["domain_id"] in within]
        if not mine:
            raise GroundupError(
                f"there is no project {name} in domain {domain}", where="Keystone", why="nothing can be exported",
                remedy="openstack project list --long; -e project=NAME -e domain=NAME",
            )  # fmt: skip
        identity = str(mine[0]["id"])
        found: dict[str, Any] = {**_described(mine[0]), "domain": domain}
        served = {one: service in self.plan.openstack.services for one, service in SERVICES.items()}
        limits = {
            _QUOTAS[service]: {key: int(one["limit"]) for key, one in quota(self.api, mine[0], _QUOTAS[service]).items()
                               if isinstance(one, Mapping)}
            for service in _QUOTAS if served[service]
        }  # fmt: skip
        shared: dict[str, Any] = {}
        if served["network"]:
            found |= self._network(name, identity, shared)
        if served["dns"]:
            zones = [one for one in self.api.list(KINDS["dns_zone"]) if one["project_id"] == identity]
            found["dns_zones"] = {
                one["name"].rstrip("."): {**_described(one), "email": one["email"], "ttl": one["ttl"]} for one in zones
            }
        found |= {"quotas": limits, "roles": list(self._roles(identity, domains))}
        return {"projects": {name: {key: value for key, value in found.items() if value or value is False}}, **shared}

    def _roles(self, project: str, domains: Mapping[str, str]) -> Iterator[dict[str, str]]:
        path = f"/role_assignments?scope.project.id={project}&include_names=true"
        for one in self.api.all("identity", path, "role_assignments"):
            if group := one.get("group"):
                yield {"group": group["name"], "group_domain": domains[group["domain"]["id"]],
                       "role": one["role"]["name"]}  # fmt: skip

    def _network(self, name: str, project: str, shared: dict[str, Any]) -> dict[str, Any]:
        """Return networks, routers and security groups of a project; put policies and pools into ``shared``."""
        every = {kind: self.api.list(KINDS[kind]) for kind in (
            "network", "subnet", "router", "security_group", "subnet_pool", "qos_policy", "address_scope")}  # fmt: skip
        names = Names(every=every, project=project, admin=str(self.api.cloud.current_project_id))
        own = {kind: names.own(kind) for kind in ("network", "subnet", "router", "security_group")}
        networks = {}
        for one in own["network"]:
            subnets = [each for each in own["subnet"] if each["network_id"] == one["id"]]
            qos = names.shared("qos_policy", one.get("qos_policy_id"), by=f"network {one['name']}")
            networks[one["name"]] = {
                **_described(one), "mtu": one["mtu"], **({"shared": True} if one["shared"] else {}),
                **({} if one.get("port_security_enabled", True) else {"port_security": False}),
                **({"qos": qos} if qos else {}),
                "subnets": {each["name"]: _subnet(each, names) for each in subnets},
            }  # fmt: skip
        routers = {}
        for one in own["router"]:
            gateway = (one["external_gateway_info"] or {}).get("network_id")
            routers[one["name"]] = {
                **_described(one),
                "subnets": [*filter(None, (names.inner("subnet", each) for each in joined(self.api, one)))],
                **({"external": names.outside(gateway, router=one["name"])} if gateway else {}),
            }
        groups = {
            one["name"]: {
                **_described(one),
                "rules": [_rule(rule, names) for rule in rules_of(one).values() if _has_form(rule, names)],
            }
            for one in own["security_group"]
        }
        used = {str(one.get("qos_policy_id")) for one in own["network"]}
        policies = {one["name"]: _policy(one) for one in every["qos_policy"] if one["id"] in used}
        taken = {str(one.get("subnetpool_id")) for one in own["subnet"]}
        pools = [one for one in every["subnet_pool"] if one["id"] in taken and one["name"] != TENANTS
                 and names.shared("subnet_pool", one["id"])]  # fmt: skip
        scopes = {one["name"]: {"version": one["ip_version"], "shared": one["shared"]} for one in every["address_scope"]
                  if one["id"] in {pool.get("address_scope_id") for pool in pools}}  # fmt: skip
        shared |= {key: value for key, value in (
            ("qos_policies", policies), ("subnet_pools", {one["name"]: _pool(one, names) for one in pools}),
            ("address_scopes", scopes)) if value}  # fmt: skip
        names.refuse(name)
        return {"networks": networks, "routers": routers, "security_groups": groups}


def _described(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description without a mark, and whether it was switched off."""
    written = str(found.get("description") or "").partition("[groundup.cloud: ")[0].strip()
    off = False in (found.get("enabled"), found.get("admin_state_up"))
    return {**({"description": written} if written else {}), **({"enabled": False} if off else {})}


def _pool(one: Mapping[str, Any], names: Names) -> dict[str, Any]:
    scope = names.shared("address_scope", one.get("address_scope_id"), by=f"subnet pool {one['name']}")
    return {**_described(one), "prefixes": one["prefixes"], "prefix": int(one["default_prefixlen"]),
            "shared": one["shared"], **({"scope": scope} if scope else {})}  # fmt: skip


def _subnet(one: Mapping[str, Any], names: Names) -> dict[str, Any]:
    pool = names.shared("subnet_pool", one.get("subnetpool_id"))
    ranges = [f"{pool['start']}-{pool['end']}" for pool in one["allocation_pools"]]
    return {
        **_described(one), "cidr": one["cidr"], "gateway": one["gateway_ip"] or "none", "ranges": ranges,
        **({} if one["enable_dhcp"] else {"dhcp": False}),
        **({"dns": one["dns_nameservers"]} if one["dns_nameservers"] else {}),
        **({"pool": pool} if pool else {}),
        **({"ipv6": one["ipv6_address_mode"]} if one.get("ipv6_address_mode") else {}),
    }  # fmt: skip


def _has_form(rule: Mapping[str, Any], names: Names) -> bool:
    """Return whether the other side of a rule can be written: without it, the rule would be for everybody."""
    group = rule["remote_group_id"]
    return not rule["remote_address_group_id"] and (group is None or bool(names.inner("security_group", group)))


def _rule(rule: Mapping[str, Any], names: Names) -> dict[str, Any]:
    ports = [rule[end] for end in ("port_range_min", "port_range_max") if rule[end] is not None]
    if ports and rule["protocol"] not in ICMP:
        ports = sorted(set(ports))  # one port is told once
    group = rule["remote_group_id"]
    return {
        "direction": rule["direction"], **({"protocol": str(rule["protocol"])} if rule["protocol"] else {}),
        **({"ports": ports} if ports else {}),
        **({"cidr": rule["remote_ip_prefix"]} if rule["remote_ip_prefix"] else {}),
        **({"group": names.inner("security_group", group)} if group else {}),
        **({"ipv6": True} if rule["ethertype"] == "IPv6" and not rule["remote_ip_prefix"] else {}),
    }  # fmt: skip


def _policy(one: Mapping[str, Any]) -> dict[str, Any]:
    limits = {f"kbps_{'in' if rule['direction'] == 'ingress' else 'out'}": rule["max_kbps"]
              for rule in one["rules"] if rule["type"] == "bandwidth_limit"}  # fmt: skip
    limits |= {"dscp" if rule["type"] == "dscp_marking" else "": rule.get("dscp_mark") for rule in one["rules"]}
    limits.pop("", None)
    return {**_described(one), **limits, "shared": one["shared"]}
