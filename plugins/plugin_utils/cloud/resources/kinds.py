"""The kinds of resources: where each is found, what cannot be changed, where its mark is; in the order they are made.

The mark: the description ends with "[groundup.cloud: SITE]"; images, aggregates and volume QoS have the property
groundup_resources instead. Nova and Cinder copy an image's properties into what tenants make of it: ours has its own id
in groundup_image, too. An address scope has room for neither, and is known by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from . import content, parts
from .credentials import CREDENTIAL
from .parts import ResourcePart

PROPERTY, SELF = "groundup_resources", "groundup_image"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceKind:
    service: str  # as openstacksdk calls it
    path: str
    key: str  # of one in a body; "": the body itself
    plural: str  # of many
    owner: str = ""  # field with the id of its project or domain
    fixed: tuple[str, ...] = ()  # fields that the API cannot change
    mark: Literal["description", "property", ""] = "description"
    at: str = ""  # field that holds the property; "": the object itself
    method: str = "PUT"
    listed: str = ""  # path of the list, where it is another one
    query: str = ""
    also: str = ""  # further query of a second list
    version: str | None = None  # microversion
    headers: Mapping[str, str] = field(default_factory=dict)
    by_domain: bool = False  # whether it is listed domain by domain
    inline: str = ""  # part that a new one is made with
    parts: Mapping[str, ResourcePart] = field(default_factory=dict)
    new: Mapping[str, Any] = field(default_factory=dict)  # fields of a new one that the site file does not write
    # Field -> (its value in use, key of the site file): where that is not written, another value is an operator's hand.
    switches: Mapping[str, tuple[Any, str]] = field(default_factory=dict)
    whole: tuple[str, ...] = ()  # values of `status` of what is there and works; (): it has none

    def there(self, found: Mapping[str, Any]) -> bool:
        """Return whether ``found`` is not about to be deleted."""
        return str(found.get("status")).lower() not in ("deleted", "pending_delete")

    def half(self, found: Mapping[str, Any]) -> bool:
        """Return whether ``found`` has never become whole, and nothing will make it so: a killed upload."""
        return self.service == "image" and found.get("status") in ("saving", "uploading", "importing", "killed")

    def unsettled(self, found: Mapping[str, Any]) -> str:
        """Return the status of what is there, and does not work; "" when it does, or was switched off."""
        status = str(found.get("status") or "")
        on = all(found.get(name, value) == value for name, (value, _) in self.switches.items())
        return status if on and self.whole and status and status not in self.whole else ""

    def text(self, written: str, site: str) -> str:
        """Return a description with the mark of ``site``."""
        return f"{written} {_mark(site)}".strip()

    def ours(self, found: Mapping[str, Any], site: str) -> bool:
        """Return whether ``found`` was made from the site file of ``site``, or taken over."""
        if self.mark == "description":
            return str(found.get("description") or "").endswith(_mark(site))
        place: Mapping[str, Any] = found.get(self.at) or {} if self.at else found
        whole = bool(self.at) or found.get(SELF) == found["id"]
        return not self.mark or (whole and place.get(PROPERTY) == site)

    def unfinished(self, found: Mapping[str, Any], site: str) -> bool:
        """Return whether a run may have made ``found`` without its whole mark: killed, or before images had two."""
        if self.service == "image":
            return found.get(PROPERTY) == site and SELF not in found
        bare = not found.get("hosts") and not {*(found.get("metadata") or {})} - {"availability_zone"}
        return self.key == "aggregate" and bare


def _mark(site: str) -> str:
    return f"[groundup.cloud: {site}]"


_ENABLED: dict[str, Any] = {"switches": {"enabled": (True, "enabled")}, "new": {"enabled": True}}
_UP: dict[str, Any] = {"switches": {"admin_state_up": (True, "enabled")}, "new": {"admin_state_up": True}}
_NEUTRON: dict[str, Any] = {"service": "network", "owner": "project_id"}
_KEYSTONE: dict[str, Any] = {"service": "identity", "method": "PATCH"}
KINDS: dict[str, ResourceKind] = {
    "domain": ResourceKind(**_KEYSTONE, path="/domains", key="domain", plural="domains", **_ENABLED),
    "role": ResourceKind(**_KEYSTONE, path="/roles", key="role", plural="roles"),
    "project": ResourceKind(
        **_KEYSTONE, path="/projects", key="project", plural="projects", owner="domain_id",
        parts={"quotas": parts.QUOTAS}, **_ENABLED,
    ),
    "group": ResourceKind(
        **_KEYSTONE, path="/groups", key="group", plural="groups", owner="domain_id", by_domain=True,
    ),
    "flavor": ResourceKind(
        service="compute", path="/flavors", listed="/flavors/detail", query="is_public=None", key="flavor",
        plural="flavors", version="2.75", parts={"extra_specs": parts.FLAVOR_SPECS, "access": parts.FLAVOR_ACCESS},
        switches={"OS-FLV-DISABLED:disabled": (False, "")},
        fixed=("vcpus", "ram", "disk", "OS-FLV-EXT-DATA:ephemeral", "swap", "os-flavor-access:is_public"),
    ),
    "volume_qos": ResourceKind(
        service="block_storage", path="/qos-specs", key="qos_specs", plural="qos_specs", mark="property", at="specs",
        inline="specs", fixed=("consumer",), parts={"specs": parts.VOLUME_QOS},
    ),
    "volume_type": ResourceKind(
        service="block_storage", path="/types", fixed=("os-volume-type-access:is_public",),
        query="is_public=None", key="volume_type", plural="volume_types",
        parts={"extra_specs": parts.TYPE_SPECS, "access": parts.TYPE_ACCESS, "qos": parts.TYPE_QOS,
               "encryption": parts.TYPE_ENCRYPTION},
        switches={"os-volume-type-access:is_public": (True, "projects")},
    ),
    "aggregate": ResourceKind(
        service="compute", path="/os-aggregates", key="aggregate", plural="aggregates", mark="property", at="metadata",
        version="2.53", parts={"metadata": parts.METADATA, "hosts": parts.HOSTS},
    ),
    "image": ResourceKind(
        service="image", path="/images", query="limit=100&visibility=all", also="os_hidden=true", key="",
        plural="images", owner="owner",
        mark="property", method="PATCH", fixed=("disk_format", "container_format", "groundup_sha256"),
        parts={"content": content.CONTENT, "active": content.ACTIVE}, new={"visibility": "public"},
        switches={"visibility": ("public", "visibility"), "status": ("active", "enabled"),
                  "os_hidden": (False, "")},
    ),
    "address_scope": ResourceKind(
        **_NEUTRON, path="/address-scopes", key="address_scope", plural="address_scopes", mark="",
        fixed=("ip_version",),
    ),
    "subnet_pool": ResourceKind(**_NEUTRON, path="/subnetpools", key="subnetpool", plural="subnetpools"),
    "qos_policy": ResourceKind(
        **_NEUTRON, path="/qos/policies", key="policy", plural="policies", parts={"rules": parts.QOS_RULES}
    ),
    "network": ResourceKind(
        **_NEUTRON, path="/networks", key="network", plural="networks", **_UP, whole=("ACTIVE",),
        fixed=("provider:network_type", "provider:physical_network", "provider:segmentation_id"),
    ),
    "subnet": ResourceKind(
        **_NEUTRON, path="/subnets", key="subnet", plural="subnets",
        fixed=("cidr", "network_id", "ip_version", "subnetpool_id", "ipv6_address_mode", "ipv6_ra_mode"),
        switches={"enable_dhcp": (True, "dhcp")}, new={"enable_dhcp": True},
    ),
    "security_group": ResourceKind(
        **_NEUTRON, path="/security-groups", key="security_group", plural="security_groups",
        parts={"rules": parts.GROUP_RULES},
    ),
    "router": ResourceKind(
        **_NEUTRON, path="/routers", key="router", plural="routers", parts={"interfaces": parts.INTERFACES},
        **_UP, whole=("ACTIVE",),
    ),
    "dns_zone": ResourceKind(
        service="dns", path="/zones", key="", plural="zones", owner="project_id", method="PATCH",
        headers={"X-Auth-All-Projects": "true"}, whole=("ACTIVE",),
    ),
    "account": ResourceKind(
        **_KEYSTONE, path="/users", key="user", plural="users", owner="domain_id", by_domain=True,
        parts={"credential": CREDENTIAL}, **_ENABLED,
    ),
}  # fmt: skip
SERVICES = {  # service of the site, by openstacksdk's name of it
    "identity": "keystone", "compute": "nova", "block_storage": "cinder", "image": "glance", "network": "neutron",
    "dns": "designate", "orchestration": "heat", "key_manager": "barbican", "load_balancer": "octavia",
    "object_store": "ceph-rgw", "shared_file_system": "manila", "container_infrastructure_management": "magnum",
}  # fmt: skip
