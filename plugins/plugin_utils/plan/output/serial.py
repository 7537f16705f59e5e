"""The plan as plain data: for Ansible's templates and `plan.json`."""

from __future__ import annotations

import json
from dataclasses import asdict, fields, replace
from typing import Any

from ..types import HostPlan, InterfacePlan, Plan

_HOST_FIELDS = tuple(
    field.name for field in fields(HostPlan) if field.name not in ("interfaces", "links", "packages", "neighbours")
)
_INTERFACE_FIELDS = tuple(field.name for field in fields(InterfacePlan))


def host_vars(host: HostPlan) -> dict[str, Any]:
    """Return one host as plain data. Not by `dataclasses.asdict`, which copies every leaf of maybe 10,000 hosts."""
    values = ((name, getattr(host, name)) for name in _HOST_FIELDS)
    found: dict[str, Any] = {name: list(value) if isinstance(value, tuple) else value for name, value in values}
    found["neighbours"] = {network: list(addresses) for network, addresses in host.neighbours.items()}
    found["packages"] = {layer: list(names) for layer, names in host.packages.items()}
    found["interfaces"] = [{name: getattr(port, name) for name in _INTERFACE_FIELDS} for port in host.interfaces]
    found["links"] = [_lists(asdict(link)) for link in host.links]
    return found


def site_vars(plan: Plan) -> dict[str, Any]:
    """Return the plan without hosts, resources, chart values, milder findings: Ansible templates it often."""
    releases = tuple(replace(release, values={}) for release in plan.openstack.releases)
    errors = tuple(finding for finding in plan.findings if finding.severity == "error")
    cloud = replace(plan.openstack, releases=releases, extra_releases={})
    small = asdict(replace(plan, hosts={}, findings=errors, openstack=cloud, resources=()))
    del small["hosts"]
    for release in small["openstack"]["releases"]:
        del release["values"]
    plain: dict[str, Any] = _lists(small)
    return plain


def to_plain(plan: Plan) -> dict[str, Any]:
    """Return the whole plan as plain data."""
    found: dict[str, Any] = _lists(asdict(replace(plan, hosts={})))
    found["hosts"] = {name: host_vars(host) for name, host in plan.hosts.items()}
    return found


def to_json(plan: Plan) -> str:
    """Return the whole plan as JSON text, stable for the same plan."""
    return json.dumps(to_plain(plan), indent=1, sort_keys=True) + "\n"


def _lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lists(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_lists(inner) for inner in value]
    return value
