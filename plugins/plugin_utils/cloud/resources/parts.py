"""Parts of resources that have calls of their own: rules, specs, access, quotas.

Each reads what there is in the form that the plan has, so that both compare, and writes the difference.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .api import CloudApi

Object = Mapping[str, Any]
Read = Callable[[CloudApi, Object, Any], Any]  # the resource, what is wanted of it
Write = Callable[[CloudApi, Object, Any, Any], None]  # the resource, before, after


@dataclass(frozen=True, slots=True)
class ResourcePart:
    read: Read
    write: Write
    fixed: bool = False  # whether only a new resource gets it
    refuse: Callable[[CloudApi, Object, Any], list[str]] = lambda *_: []  # why it must not be written


def ordered(items: Iterable[Any]) -> list[Any]:
    """Return ``items`` in an order of their own."""
    return sorted(items, key=lambda one: json.dumps(one, sort_keys=True))


def _specs(field: str, path: str, service: str, body: str, *, drop: str = "") -> ResourcePart:
    """Return keys and values of a resource. ``drop``: path that takes a list of keys; "": each has its own."""

    def read(_api: CloudApi, found: Object, wanted: Any) -> Any:
        del wanted
        return dict(found.get(field) or {})

    def write(api: CloudApi, found: Object, before: Any, after: Any) -> None:
        base = path.format(found["id"])
        if changed := {key: value for key, value in after.items() if before.get(key) != value}:
            api.call(service, "PUT" if drop else "POST", base, {body: changed})
        gone = sorted(before.keys() - after.keys())
        if gone and drop:
            api.call(service, "PUT", base + drop, {"keys": gone})
        for key in () if drop else gone:
            api.call(service, "DELETE", f"{base}/{key}", absent=True)

    return ResourcePart(read, write)


def _access(service: str, path: str, plural: str, *, public: str, verbs: tuple[str, str], field: str) -> ResourcePart:
    """Return the projects that may use a resource that is not public."""

    def read(api: CloudApi, found: Object, wanted: Any) -> Any:
        del wanted
        if found.get(public, True):
            return []
        answer = api.call(service, "GET", path.format(found["id"]))
        return ordered(one["project_id" if "project_id" in one else "tenant_id"] for one in answer[plural])

    def write(api: CloudApi, found: Object, before: Any, after: Any) -> None:
        action = f"{path.format(found['id']).rpartition('/')[0]}/action"
        for verb, projects in zip(verbs, (set(after) - set(before), set(before) - set(after)), strict=True):
            for project in sorted(projects):
                api.call(service, "POST", action, {verb: {field: project}})

    return ResourcePart(read, write)


def _read_qos(_api: CloudApi, found: Object, _wanted: Any) -> Any:
    return found.get("qos_specs_id") or None


def _write_qos(api: CloudApi, found: Object, before: Any, after: Any) -> None:
    for verb, qos in (("disassociate", before), ("associate", after)):
        if qos:
            api.call("block_storage", "GET", f"/qos-specs/{qos}/{verb}?vol_type_id={found['id']}")


def _read_encryption(api: CloudApi, found: Object, _wanted: Any) -> Any:
    answer = api.call("block_storage", "GET", f"/types/{found['id']}/encryption") or {}
    return {key: answer[key] for key in ("provider", "cipher", "key_size", "control_location") if answer.get(key)}


def _write_encryption(api: CloudApi, found: Object, _before: Any, after: Any) -> None:
    api.call("block_storage", "POST", f"/types/{found['id']}/encryption", {"encryption": after})


def _read_metadata(_api: CloudApi, found: Object, _wanted: Any) -> Any:
    return {key: value for key, value in (found.get("metadata") or {}).items() if key != "availability_zone"}


def _write_metadata(api: CloudApi, found: Object, before: Any, after: Any) -> None:
    body = {**dict.fromkeys(before.keys() - after.keys()), **after}
    api.call("compute", "POST", f"/os-aggregates/{found['id']}/action", {"set_metadata": {"metadata": body}})


def _write_hosts(api: CloudApi, found: Object, before: Any, after: Any) -> None:
    for verb, hosts in (("remove_host", set(before) - set(after)), ("add_host", set(after) - set(before))):
        for host in sorted(hosts):
            api.call("compute", "POST", f"/os-aggregates/{found['id']}/action", {verb: {"host": host}})


_RULE = (
    "direction",
    "ethertype",
    "protocol",
    "port_range_min",
    "port_range_max",
    "remote_ip_prefix",
    "remote_group_id",
    "remote_address_group_id",
)


def rules_of(found: Object) -> dict[str, dict[str, Any]]:
    """Return the rules but the two that each group begins with, by id."""
    rules = {str(one["id"]): {key: one.get(key) for key in _RULE} for one in found.get("security_group_rules") or ()}
    return {
        key: rule for key, rule in rules.items()
        if rule["direction"] == "ingress" or any(rule[name] is not None for name in _RULE[2:])
    }  # fmt: skip


def _write_group_rules(api: CloudApi, found: Object, before: Any, after: Any) -> None:
    for identity, rule in rules_of(found).items():
        if rule not in after:
            api.call("network", "DELETE", f"/security-group-rules/{identity}", absent=True)
    for rule in after:
        if rule not in before:
            given = {key: value for key, value in rule.items() if value is not None}
            body = {"security_group_rule": {"security_group_id": found["id"], **given}}
            owner = {"project_id": found["project_id"]} if found.get("project_id") else {}
            body["security_group_rule"] |= owner
            api.call("network", "POST", "/security-group-rules", body)


_LIMITS = ("type", "direction", "max_kbps", "dscp_mark")


def _qos_rules(found: Object) -> dict[str, dict[str, Any]]:
    return {str(one["id"]): {key: one[key] for key in _LIMITS if key in one} for one in found.get("rules") or ()}


def _write_qos_rules(api: CloudApi, found: Object, before: Any, after: Any) -> None:
    base = f"/qos/policies/{found['id']}"
    for identity, rule in _qos_rules(found).items():
        if rule not in after:
            api.call("network", "DELETE", f"{base}/{rule['type']}_rules/{identity}", absent=True)
    for rule in after:
        if rule not in before:
            body = {f"{rule['type']}_rule": {key: value for key, value in rule.items() if key != "type"}}
            api.call("network", "POST", f"{base}/{rule['type']}_rules", body)


def joined(api: CloudApi, found: Object) -> list[str]:
    """Return the subnets that a router joins, whoever joined them."""
    path = f"/ports?device_id={found['id']}&fields=device_owner&fields=fixed_ips"
    ports = api.call("network", "GET", path)["ports"]
    joins = [one for one in ports if one["device_owner"] != "network:router_gateway"]
    return ordered({str(ip["subnet_id"]) for one in joins for ip in one["fixed_ips"]})


def _read_interfaces(api: CloudApi, found: Object, wanted: Any) -> Any:
    """Return what it joins, without subnets that a tenant made and joined: instances are behind them."""
    return [one for one in joined(api, found) if one in wanted or one in api.ledger.made]


def _write_interfaces(api: CloudApi, found: Object, before: Any, after: Any) -> None:
    for verb, subnets in (("remove", set(before) - set(after)), ("add", set(after) - set(before))):
        for subnet in sorted(subnets):
            api.call("network", "PUT", f"/routers/{found['id']}/{verb}_router_interface", {"subnet_id": subnet})


# Path of a project's limits with their use, the word for use, path and key for changes.
_QUOTA = {
    "compute": ("compute", "/os-quota-sets/{}/detail", "in_use", "/os-quota-sets/{}", "quota_set"),
    "volume": ("block_storage", "/os-quota-sets/{}?usage=True", "in_use", "/os-quota-sets/{}", "quota_set"),
    "network": ("network", "/quotas/{}/details.json", "used", "/quotas/{}", "quota"),
}


def quota(api: CloudApi, found: Object, service: str) -> dict[str, Any]:
    """Return a project's quotas with their use, of one service."""
    name, path, _, _, key = _QUOTA[service]
    return dict(api.call(name, "GET", path.format(found["id"]))[key])


def _read_quotas(api: CloudApi, found: Object, wanted: Any) -> Any:
    read = {service: quota(api, found, service) for service in wanted}
    return {
        service: {name: (read[service].get(name) or {}).get("limit") for name in limits}
        for service, limits in wanted.items()
    }


def _refuse_quotas(api: CloudApi, found: Object, wanted: Any) -> list[str]:
    said = []
    for service, limits in wanted.items():
        read, word = quota(api, found, service), _QUOTA[service][2]
        for name, limit in limits.items():
            if not isinstance(read.get(name), Mapping):
                said.append(f"{service} knows no quota {name}; it knows {', '.join(sorted(set(read) - {'id'}))}")
            elif 0 <= limit < (used := int(read[name][word]) + int(read[name].get("reserved") or 0)):
                said.append(f"quota {name} of {limit} is below what is in use, {used}")
    return said


def _write_quotas(api: CloudApi, found: Object, before: Any, after: Any) -> None:
    for service, limits in after.items():
        if changed := {name: limit for name, limit in limits.items() if (before.get(service) or {}).get(name) != limit}:
            name, _, _, path, key = _QUOTA[service]
            api.call(name, "PUT", path.format(found["id"]), {key: changed})


QUOTAS = ResourcePart(_read_quotas, _write_quotas, refuse=_refuse_quotas)
FLAVOR_SPECS = _specs("extra_specs", "/flavors/{}/os-extra_specs", "compute", "extra_specs")
FLAVOR_ACCESS = _access(
    "compute", "/flavors/{}/os-flavor-access", "flavor_access", public="os-flavor-access:is_public",
    verbs=("addTenantAccess", "removeTenantAccess"), field="tenant",
)  # fmt: skip
TYPE_SPECS = _specs("extra_specs", "/types/{}/extra_specs", "block_storage", "extra_specs")
TYPE_ACCESS = _access(
    "block_storage", "/types/{}/os-volume-type-access", "volume_type_access", public="is_public",
    verbs=("addProjectAccess", "removeProjectAccess"), field="project",
)  # fmt: skip
TYPE_QOS = ResourcePart(_read_qos, _write_qos)
TYPE_ENCRYPTION = ResourcePart(_read_encryption, _write_encryption, fixed=True)
VOLUME_QOS = _specs("specs", "/qos-specs/{}", "block_storage", "qos_specs", drop="/delete_keys")
METADATA = ResourcePart(_read_metadata, _write_metadata)
HOSTS = ResourcePart(lambda _api, found, _wanted: ordered(found.get("hosts") or ()), _write_hosts)
GROUP_RULES = ResourcePart(lambda _api, found, _wanted: ordered(rules_of(found).values()), _write_group_rules)
QOS_RULES = ResourcePart(lambda _api, found, _wanted: ordered(_qos_rules(found).values()), _write_qos_rules)
INTERFACES = ResourcePart(_read_interfaces, _write_interfaces)
