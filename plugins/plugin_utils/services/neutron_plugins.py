"""Plugins of Neutron that OVN carries out: what tenants may ask for beyond networks and routers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..health.verification import Check

if TYPE_CHECKING:
    from ..health.context import VerifierContext

# Option of `service_plugins` -> the extension of the API that it brings.
SERVICE_PLUGINS = {
    "log": "logging",  # of security groups, by each chassis' ovn-controller
    "ovn-router": "router",
    "port_forwarding": "floating-ip-port-forwarding",
    "qos": "qos",
    "segments": "segment",
    "trunk": "trunk",
}
# The same of `extension_drivers` of ML2.
ML2_DRIVERS = {"port_security": "port-security", "qos": "qos"}
# Where the site has a domain: names of ports, with those of networks, ports and subnets' fixed addresses.
DNS_DRIVER = {"subnet_dns_publish_fixed_ip": "subnet-dns-publish-fixed-ip"}
# Of plugins that Neutron loads without being told. It drops one that misses something, without a word.
_OWN = ("address-group", "auto-allocated-topology", "network-ip-availability", "standard-attr-tag")
OPTIONS = {
    "conf.neutron.DEFAULT.service_plugins": SERVICE_PLUGINS,
    "conf.plugins.ml2_conf.ml2.extension_drivers": ML2_DRIVERS | DNS_DRIVER,
}


def promised(context: VerifierContext) -> dict[str, str]:
    """Return the extensions that Neutron's configuration promises, each with the plugin that brings it."""
    found = dict.fromkeys(_OWN, "Neutron itself")
    for path, known in OPTIONS.items():
        names = (name.strip() for name in str(context.value(path) or "").split(","))
        found |= {known[name]: name for name in names if name in known}
    return found


def judge(listed: Iterable[Mapping[str, Any]], wanted: Mapping[str, str]) -> Check:
    """Check that Neutron's API lists all ``wanted`` extensions."""
    have = {str(one.get("alias")) for one in listed}
    missing = [f"{alias} (of {plugin})" for alias, plugin in sorted(wanted.items()) if alias not in have]
    detail = f"not listed: {', '.join(missing)}" if missing else f"{len(wanted)} promised, all listed"
    return Check(name="extensions", ok=not missing, detail=detail, layer="service", object="Deployment/neutron-server")
