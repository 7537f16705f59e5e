"""Ironic node, network data and configuration drive of a machine, from the plan alone."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ...module_utils._host import networkd
from ..errors import GroundupError
from ..plan.platform.metal import PROTOCOLS, from_network
from ..plan.types import HostPlan, InterfacePlan, NetworkPlan, Plan

_NAMESPACE = uuid.UUID("6f7c2f0a-6d1b-4c57-9d0a-67726f756e64")


def node_id(site: str, host: str) -> str:
    """Return the node's id: the same in every run, so that a rerun creates no second node."""
    return str(uuid.uuid5(_NAMESPACE, f"{site}/{host}"))


def boot_port(host: HostPlan, networks: Mapping[str, NetworkPlan] | None = None) -> InterfacePlan:
    """Return the port that the machine boots from. Raises GroundupError when no port has a MAC address."""
    ports = [port for port in host.interfaces if port.mac and port.address]
    if networks and from_network(host):
        ports.sort(key=lambda port: networks[port.network].purpose != "provisioning")
    for port in ports:
        return port
    raise GroundupError(
        f"{host.name} has no MAC address",
        where=f"machines.{host.group}.machines.{host.name}.mac",
        why="its ramdisk is known by it, and its network is found by it",
        remedy="write the address of the port that it boots from",
    )


def network_data(plan: Plan, host: HostPlan) -> dict[str, Any]:
    """Return the network data of ``host`` for ramdisk and system: the same files that the host layer converges.

    They are under our own key in OpenStack's network_data.json, whose format has no bridges and no LACP rate.
    """
    files = networkd.files([asdict(link) for link in host.links], dns=host.dns_servers or plan.host.dns_servers)
    return {"links": [], "networks": [], "services": [], "networkd": files}


def node(plan: Plan, host: HostPlan, *, password: str) -> dict[str, Any]:
    """Return the fields of the Ironic node of ``host``. Raises GroundupError."""
    bmc = host.bmc or {}
    protocol = str(bmc.get("protocol"))
    if protocol not in PROTOCOLS or not bmc.get("address"):
        raise GroundupError(
            f"{host.name} cannot be installed by {protocol if host.bmc else 'no management controller'}",
            where=f"machines.{host.group}.bmc",
            why=f"this version boots machines by {', '.join(PROTOCOLS)} alone",
            remedy=f"write bmc: {{protocol: {next(iter(PROTOCOLS))}}} with an address, or provisioner: existing",
        )
    boot_port(host)
    return {
        "uuid": node_id(plan.site, host.name),
        "name": host.name,
        "driver": "redfish",
        "boot_interface": PROTOCOLS[protocol],
        "driver_info": driver_info(bmc, password),
        "properties": {"cpu_arch": "x86_64", "capabilities": "boot_mode:uefi"},
        "network_data": network_data(plan, host),
        "extra": {"site": plan.site, "rack": host.rack},
    }


def driver_info(bmc: Mapping[str, Any], password: str, *, system: str = "") -> dict[str, Any]:
    """Return how Ironic reaches a management controller. ``system``: the machine's path, where it has several."""
    place = system or (system_of(bmc) if bmc.get("system") else "")
    return {
        "redfish_address": f"https://{bmc['address']}",
        "redfish_username": bmc["user"],
        "redfish_password": password,
        # Controllers have self-signed certificates; the site file has no key for their CA yet.
        "redfish_verify_ca": False,
        **({"redfish_system_id": place} if place else {}),
    }


def system_of(bmc: Mapping[str, Any]) -> str:
    """Return the path in Redfish of the system that the site file names, by path or by the last part of it."""
    named = str(bmc["system"]).rstrip("/")
    return named if named.startswith("/") else f"/redfish/v1/Systems/{named}"


def configdrive(plan: Plan, host: HostPlan, *, ca: str, keys: tuple[str, ...], home: str, token: str) -> dict[str, Any]:
    """Return the configuration drive: names, network, ssh keys, and URL and token of the call home."""
    identity = node_id(plan.site, host.name)
    meta = {
        "uuid": identity,
        "name": host.name,
        "hostname": host.fqdn,
        "public_keys": {f"key-{number}": key for number, key in enumerate(keys)},
        "groundup": {"user": plan.access.user, "ca": ca, "phone_home": {"url": home, "token": token}},
    }
    return {"meta_data": meta, "network_data": network_data(plan, host)}
