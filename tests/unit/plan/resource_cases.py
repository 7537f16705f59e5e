"""Mistakes in resources of the cloud, each with the finding it is."""

from __future__ import annotations

from typing import Any

P = "cloud.projects.web"
NET = {"a": {"subnets": {"one": {"cidr": "10.1.0.0/24"}}}, "b": {"subnets": {"two": {"cidr": "10.1.0.128/25"}}}}


def project(name: str = "web", **given: Any) -> dict[str, Any]:
    """Return the changes of a site file that give it a project."""
    return {f"cloud/projects/{name}": given}


def _subnet(**given: Any) -> dict[str, Any]:
    return project(networks={"a": {"subnets": {"one": given}}})


_POOL = {"cloud/subnet_pools/office": {"prefixes": ["10.2.0.0/16"]}}
_LDAP = {"url": "ldaps://ldap.corp.test", "users": {"tree": "dc=corp"}}
_LARGE = {"hardware/diskless/memory_gb": 16}
_CI = {"ci": {"roles": ["member"]}}
_ZONES = {"zone": "z1", "hosts": ["hypervisor-1"]}
CASES: list[tuple[str, str, str, dict[str, Any], str]] = [
    ("cloud-without-service", "error", "cloud", project(dns_zones={"a.test": {"email": "a@b"}}), f"{P}.dns_zones"),
    ("cloud-without-service", "error", "lab", {"cloud/flavors/m": {"vcpus": 1, "memory_mb": 1}}, "cloud.flavors"),
    ("cloud-without-service", "error", "lab", project(quotas={"compute": {"cores": 1}}), f"{P}.quotas.compute"),
    ("cloud-without-service", "error", "cloud", {**project(), "openstack/services": []}, "cloud"),
    ("cloud-name-unknown", "error", "cloud", project(domain="acme"), f"{P}.domain"),
    ("cloud-name-unknown", "error", "cloud", project(routers={"r": {"external": "out"}}), f"{P}.routers.r.external"),
    ("cloud-name-unknown", "error", "cloud", project(routers={"r": {"subnets": ["s"]}}), f"{P}.routers.r.subnets"),
    ("cloud-name-unknown", "error", "cloud", _subnet(pool="office"), f"{P}.networks.a.subnets.one.pool"),
    ("cloud-name-unknown", "error", "cloud", project(networks={"a": {"qos": "slow"}}), f"{P}.networks.a.qos"),
    ("cloud-name-unknown", "error", "cloud", project(security_groups={"g": {"rules": [{"group": "h"}]}}),
     f"{P}.security_groups.g.rules[0].group"),
    ("cloud-name-unknown", "error", "cloud", {"cloud/volume_types/t": {"qos": "q"}}, "cloud.volume_types.t.qos"),
    ("cloud-name-unknown", "error", "cloud", {"cloud/subnet_pools/p": {"prefixes": ["10.0.0.0/8"], "scope": "s"}},
     "cloud.subnet_pools.p.scope"),
    ("cloud-name-twice", "error", "cloud", {"cloud/domains/default": {}}, "cloud.domains.default"),
    ("cloud-name-twice", "error", "cloud", {**project("Web"), **project("web")}, "cloud.projects.web"),
    ("cloud-name-twice", "error", "cloud", project("admin"), "cloud.projects.admin"),
    ("cloud-name-twice", "error", "cloud", {"cloud/domains/Corp": {}, "identity/domains/corp": {"ldap": _LDAP}},
     "cloud.domains.Corp"),
    ("cloud-name-twice", "error", "cloud", {"cloud/subnet_pools/tenants": {"prefixes": ["10.3.0.0/16"]}},
     "cloud.subnet_pools.tenants"),
    ("cloud-name-twice", "error", "cloud", project(security_groups={"default": {}}), f"{P}.security_groups.default"),
    ("cloud-name-twice", "error", "cloud", project(networks={
        "a": {"subnets": {"one": {"cidr": "10.1.0.0/24"}}}, "b": {"subnets": {"one": {"cidr": "10.2.0.0/24"}}}}),
     f"{P}.networks.b.subnets.one"),
    ("cloud-secret-twice", "error", "cloud",
     {**project("web shop", credentials=_CI), **project("web-shop", credentials=_CI)},
     "cloud.projects.web-shop.credentials.ci"),
    ("cloud-role-unknown", "error", "cloud", project(roles=[{"group": "g", "role": "boss"}]), f"{P}.roles[0].role"),
    ("cloud-role-unknown", "error", "cloud", project(credentials={"ci": {"roles": ["boss"]}}), f"{P}.credentials.ci"
     ".roles"),
    ("admin-of-a-part", "warning", "cloud", project(roles=[{"group": "g", "role": "admin"}]), f"{P}.roles[0].role"),
    ("cloud-group-unknown", "error", "cloud",
     {"cloud/domains/acme": {"groups": {"dev": {}}},
      **project(domain="acme", roles=[{"group": "d", "role": "member"}])},
     "cloud.domains.acme.groups"),
    ("cloud-account-in-directory", "error", "cloud",
     {"identity/domains/corp": {"ldap": _LDAP}, **project(domain="corp", credentials={"ci": {"roles": ["member"]}})},
     f"{P}.credentials"),
    ("cloud-subnets-overlap", "error", "cloud", project(networks=NET, routers={"r": {"subnets": ["one", "two"]}}),
     f"{P}.networks.b.subnets.two.cidr"),
    ("cloud-subnet-outside-pool", "error", "cloud", {**_POOL, **_subnet(pool="office", cidr="10.3.0.0/24")},
     f"{P}.networks.a.subnets.one.cidr"),
    ("cloud-address-outside-subnet", "error", "cloud", _subnet(cidr="10.3.0.0/24", gateway="10.4.0.1"),
     f"{P}.networks.a.subnets.one"),
    ("cloud-address-outside-subnet", "error", "cloud", _subnet(cidr="10.3.0.0/24", ranges=["10.3.0.9-10.3.1.9"]),
     f"{P}.networks.a.subnets.one"),
    ("cloud-flavor-too-large", "error", "cloud", {**_LARGE, "cloud/flavors/m": {"vcpus": 1, "memory_mb": 999999}},
     "cloud.flavors.m"),
    ("cloud-flavor-too-large", "error", "cloud", {**_LARGE, "cloud/flavors/m": {"vcpus": 4096, "memory_mb": 1}},
     "cloud.flavors.m"),
    ("cloud-without-service", "error", "cloud", {"cloud/volume_types/secret": {"encryption": {}}},
     "cloud.volume_types.secret.encryption"),
    *(("cloud-device-not-offered", "error", "cloud",
       {"cloud/flavors/m": {"vcpus": 1, "memory_mb": 1, "extra_specs": {spec: "1"}}}, "cloud.flavors.m.extra_specs")
      for spec in ("pci_passthrough:alias", "resources:VGPU")),
    ("cloud-device-not-offered", "error", "cloud",
     {"cloud/flavors/m": {"vcpus": 1, "memory_mb": 1, "extra_specs": {"hw:tpm_secret_security": "deployment"}}},
     "cloud.flavors.m.extra_specs"),
    ("cloud-without-service", "error", "cloud",
     {"cloud/flavors/m": {"vcpus": 1, "memory_mb": 1, "extra_specs": {"hw:tpm_version": "2.0"}}},
     "cloud.flavors.m.extra_specs"),
    ("cloud-without-service", "error", "cloud",
     {"cloud/images/i": {"source": "/i.raw", "sha256": "0" * 64, "properties": {"hw_tpm_model": "tpm-crb"}}},
     "cloud.images.i.properties"),
    ("cloud-host-unknown", "error", "cloud", {"cloud/aggregates/a": {"hosts": ["hypervisor-9"]}},
     "cloud.aggregates.a.hosts"),
    ("cloud-host-in-two-zones", "error", "cloud",
     {"cloud/aggregates/a": _ZONES, "cloud/aggregates/b": {**_ZONES, "zone": "z2"}}, "cloud.aggregates.b.zone"),
]  # fmt: skip
