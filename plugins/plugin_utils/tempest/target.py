"""What a cloud has, as far as its tests must know: decided by the plan, or asked of any other cloud."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..https import public_names, trust_file
from ..plan.types import Plan
from ..services import keystone, nova
from ..services.parts import public_endpoint

if TYPE_CHECKING:
    from openstack.connection import Connection

Backups = Literal["", "ceph", "swift"]
VOLUME_TYPES = ("block-storage", "volumev3", "volume")  # of the catalog, by preference
# What Neutron's API offers with a service plugin, or an extension driver of ML2: one alias that shows it.
_ALIASES = {
    "ovn-router": "router", "router": "router", "trunk": "trunk", "qos": "qos", "segments": "segment",
    "port_forwarding": "floating-ip-port-forwarding", "auto_allocate": "auto-allocated-topology", "log": "logging",
    "network_segment_range": "network-segment-range", "port_security": "port-security", "dns": "dns-integration",
    "metering": "metering",
}  # fmt: skip
# Type in the catalog -> our name of the service.
_SERVICES = {
    "identity": "keystone", "compute": "nova", "network": "neutron", "image": "glance", "placement": "placement",
    "orchestration": "heat", "key-manager": "barbican", "load-balancer": "octavia", "dns": "designate",
    "object-store": "ceph-rgw", **dict.fromkeys(VOLUME_TYPES, "cinder"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A cloud. Defaults are what nobody can ask of a cloud that is not a site of ours."""

    name: str  # of the site, or in clouds.yaml
    region: str
    auth_url: str
    ca: Path | None  # None: what this machine trusts
    services: frozenset[str]  # names as in a site file
    hypervisors: int
    volume_type: str = VOLUME_TYPES[0]  # in the catalog
    shared_disks: bool = False  # whether instances' disks can be reached from every hypervisor
    console: bool = True
    ide: bool = True  # whether the machine type has an IDE bus
    emulated: bool = False  # whether guests run without KVM: they take several times as long
    backups: Backups = ""
    volumes_in_ceph: bool = False
    domain_drivers: bool = False  # whether Keystone lists users and groups of one domain at a time
    password_history: int | None = None  # former passwords that a user may not take again
    password_days: int | None = None  # that a password must live
    balancers: str = "ovn"  # Octavia's provider
    dashboard: str = ""
    promised: frozenset[str] = frozenset()  # aliases of Neutron's extensions that must be there
    names: Mapping[str, str] = field(default_factory=dict)  # to be resolved as this: name -> address


def of_plan(plan: Plan) -> Target:
    """Return the cloud of a site. ``plan`` has the values of its releases."""
    services = frozenset(plan.openstack.services)
    compute = list(plan.hypervisor.compute.values())
    return Target(
        name=plan.site,
        region=plan.openstack.region,
        auth_url=public_endpoint(plan, keystone.SERVICE.name).url.rstrip("/"),
        ca=None if plan.edge.public_root else trust_file(plan),
        services=services,
        hypervisors=sum("hypervisor" in host.roles for host in plan.hosts.values()),
        volume_type=public_endpoint(plan, "cinder").type if "cinder" in services else VOLUME_TYPES[0],
        shared_disks=bool(compute) and all(one["disks"] == "ceph" for one in compute),
        console="nova" in services and nova.has_console(plan),
        ide=all(not str(one["machine_type"]).startswith("q35") for one in compute),
        emulated=any(one["virt_type"] == "qemu" for one in compute),
        backups=_backups(plan),
        volumes_in_ceph=plan.ceph is not None,
        domain_drivers=_domain_drivers(plan),
        password_history=plan.identity.logins.compliance["unique_last_password_count"],
        password_days=plan.identity.logins.compliance["minimum_password_age"],
        dashboard=public_endpoint(plan, "horizon").url if "horizon" in services else "",
        promised=frozenset(promised(plan)),
        names=public_names(plan),
    )


def of_cloud(name: str, cloud: Connection) -> Target:
    """Return a cloud of clouds.yaml, by its catalog. Raises the client's errors."""
    catalog = cloud.session.auth.get_access(cloud.session).service_catalog.catalog
    types = [str(one["type"]) for one in catalog]
    services = frozenset(_SERVICES[one] for one in types if one in _SERVICES)
    return Target(
        name=name,
        region=str(cloud.config.region_name or ""),
        auth_url=str(cloud.session.auth.auth_url).rstrip("/"),
        ca=Path(cloud.session.verify) if isinstance(cloud.session.verify, str) else None,
        services=services,
        hypervisors=len(list(cloud.compute.hypervisors())) if "nova" in services else 0,
        volume_type=next((one for one in VOLUME_TYPES if one in types), VOLUME_TYPES[0]),
    )


def _domain_drivers(plan: Plan) -> bool:
    """Return an option of Keystone's that both sets of charts turn on."""
    values = next((one.values for one in plan.openstack.releases if one.name == "keystone"), {})
    conf: Mapping[str, Any] = values.get("conf", {}).get("keystone", {})
    return bool(conf.get("identity", {}).get("domain_specific_drivers_enabled", True))


def promised(plan: Plan) -> Iterable[str]:
    """Return the aliases that the values of Neutron's release promise."""
    values = next((one.values for one in plan.openstack.releases if one.name == "neutron"), {})
    conf: Mapping[str, Any] = values.get("conf", {})
    plugins = str(conf.get("neutron", {}).get("DEFAULT", {}).get("service_plugins") or "")
    drivers = str(conf.get("plugins", {}).get("ml2_conf", {}).get("ml2", {}).get("extension_drivers") or "")
    names = [name.strip() for name in f"{plugins},{drivers}".split(",")]
    return [_ALIASES[name] for name in names if name in _ALIASES]


def _backups(plan: Plan) -> Backups:
    if plan.ceph is None or "cinder" not in plan.openstack.services:
        return ""
    return "swift" if plan.ceph.backups == "objects" else "ceph"
