"""Resources as manifests of the OpenStack Resource Controller (k-orc.cloud, API v1alpha1), one namespace a project."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import GroundupError

if TYPE_CHECKING:
    from ...plan.part_types import ResourcePlan

VERSION = "openstack.k-orc.cloud/v1alpha1"
CREDENTIALS = {
    "secretName": "openstack-clouds",
    "cloudName": "openstack",
}  # a Secret with clouds.yaml, each namespace's
KINDS = {"network": "Network", "subnet": "Subnet", "security_group": "SecurityGroup", "router": "Router"}


def manifests(resources: Sequence[ResourcePlan]) -> list[dict[str, Any]]:
    """Return a Namespace for each project, and its networks, subnets, routers and security groups.

    They are for a controller that logs in to that project, and owns them. Other resources are an administrator's, and
    are made from the site file. Raises GroundupError when two would have one name.
    """
    made = [*_manifests(resources)]
    counted = Counter((one["kind"], one["metadata"]["name"]) for one in made)
    if twice := [f"{kind} {name}" for (kind, name), times in counted.items() if times > 1]:
        raise GroundupError(
            f"more than one would be {', '.join(twice)}", where="names in lower case, - for all but letters and digits",
            why="the second manifest would change the object of the first", remedy="rename them in the cloud",
        )  # fmt: skip
    return made


def _manifests(resources: Sequence[ResourcePlan]) -> Iterator[dict[str, Any]]:
    owned = {one.name for one in resources if one.kind == "network"}
    for project in (one for one in resources if one.kind == "project"):
        space = slug(project.name)
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}
        mine = [one for one in resources if one.place == project.name and one.kind in KINDS]
        outside = {one.values["external_gateway_info"]["network_id"]["name"] for one in mine
                   if one.kind == "router" and one.values["external_gateway_info"]} - owned  # fmt: skip
        for name in sorted(outside):  # found by name, never changed
            spec = {"managementPolicy": "unmanaged", "import": {"filter": {"name": name, "external": True}}}
            yield _object("Network", space, name, {"cloudCredentialsRef": CREDENTIALS, **spec})
        for one in mine:
            resource = {"name": one.name, **_described(one), **_SPECS[one.kind](one)}
            spec = {"cloudCredentialsRef": CREDENTIALS, "managementPolicy": "managed", "resource": resource}
            yield _object(KINDS[one.kind], space, one.name, spec)
            for subnet in one.parts.get("interfaces", ()):
                joins = {"type": "Subnet", "routerRef": slug(one.name), "subnetRef": slug(subnet["name"])}
                yield _object("RouterInterface", space, f"{one.name}-{subnet['name']}", joins)


def slug(name: str) -> str:
    """Return ``name`` as a name of Kubernetes."""
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:63].rstrip("-") or "unnamed"


def _object(kind: str, namespace: str, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {"name": slug(name), "namespace": namespace}
    return {"apiVersion": VERSION, "kind": kind, "metadata": metadata, "spec": dict(spec)}


def _described(one: ResourcePlan) -> dict[str, str]:
    return {"description": one.values["description"]} if one.values["description"] else {}


def _network(one: ResourcePlan) -> dict[str, Any]:
    more = {"mtu": one.values["mtu"]} if one.values.get("mtu") else {}
    more |= _up(one)
    return {"portSecurityEnabled": one.values["port_security_enabled"], "shared": one.values["shared"], **more}


def _up(one: ResourcePlan) -> dict[str, bool]:
    return {"adminStateUp": one.values["admin_state_up"]} if "admin_state_up" in one.values else {}


def _subnet(one: ResourcePlan) -> dict[str, Any]:
    values = one.values
    found = {
        "networkRef": slug(values["network_id"]["name"]), "ipVersion": values["ip_version"],
        **({"cidr": values["cidr"]} if "cidr" in values else {}), "enableDHCP": values.get("enable_dhcp", True),
    }  # fmt: skip
    if "gateway_ip" in values:
        ip = values["gateway_ip"]
        found["gateway"] = {"type": "IP", "ip": ip} if ip else {"type": "None"}
    if values["dns_nameservers"]:
        found["dnsNameservers"] = values["dns_nameservers"]
    if "allocation_pools" in values:
        found["allocationPools"] = values["allocation_pools"]
    if mode := values.get("ipv6_address_mode"):
        found["ipv6"] = {"addressMode": mode, "raMode": mode}
    return found


def _group(one: ResourcePlan) -> dict[str, Any]:
    """Return the rules, but those between groups, which ORC's form does not have."""
    rules = []
    for rule in one.parts["rules"]:
        if rule["remote_group_id"]:
            continue
        found = {"direction": rule["direction"], "ethertype": rule["ethertype"]}
        found |= {"protocol": rule["protocol"]} if rule["protocol"] else {}
        found |= {"remoteIPPrefix": rule["remote_ip_prefix"]} if rule["remote_ip_prefix"] else {}
        if rule["port_range_min"] is not None:
            found["portRange"] = {"min": rule["port_range_min"], "max": rule["port_range_max"]}
        rules.append(found)
    return {"rules": rules}


def _router(one: ResourcePlan) -> dict[str, Any]:
    gateway = one.values["external_gateway_info"]
    outside = {"externalGateways": [{"networkRef": slug(gateway["network_id"]["name"])}]} if gateway else {}
    return {**outside, **_up(one)}


_SPECS = {"network": _network, "subnet": _subnet, "security_group": _group, "router": _router}
