"""Check in Nova, Placement and Neutron whether a hypervisor has joined the cloud."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ...module_utils._base.wait import wait_until
from ..errors import GroundupError
from ..layers.aside import Aside
from .connection import Ask

OWN = "AUTO: "  # nova-compute's own reason after libvirt's restart; it lifts it within a minute
PAUSE = 3.0  # seconds between two checks
INVENTORY = frozenset(("VCPU", "MEMORY_MB", "DISK_GB"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """The cloud's records of all its hypervisors."""

    services: Sequence[Mapping[str, Any]]  # Nova's nova-compute services
    hypervisors: Mapping[str, str]  # host -> uuid, of hosts mapped to a cell; libvirt's own name may differ
    providers: frozenset[str]  # uuids
    inventories: Mapping[str, frozenset[str]]  # uuid -> resource classes
    agents: Sequence[Mapping[str, Any]]  # Neutron's


def wait(ask: Ask, hosts: Sequence[str], *, timeout: float) -> list[Aside]:
    """Wait until ``hosts`` have joined; return what each other one lacks, or why the cloud did not answer."""

    def pending() -> list[Aside]:
        try:
            return lacking(look(ask, hosts), hosts)
        except GroundupError as error:
            why = f"{error.what} ({error.where})"
            return [Aside(host=host, layer="service", reason=why, remedy=error.remedy) for host in hosts]

    return wait_until(pending, timeout=timeout, pause=PAUSE)


def look(ask: Ask, hosts: Iterable[str]) -> Cloud:
    """Return the cloud's records, with the inventories of ``hosts``."""
    providers = frozenset(str(one["uuid"]) for one in ask("placement", "/resource_providers")["resource_providers"])
    known = ask("compute", "/os-hypervisors/detail")["hypervisors"]
    hypervisors = {str(one["service"]["host"]): str(one["id"]) for one in known}
    wanted = {hypervisors.get(name, "") for name in hosts} & providers
    return Cloud(
        services=ask("compute", "/os-services?binary=nova-compute")["services"],
        hypervisors=hypervisors,
        providers=providers,
        inventories={
            uuid: frozenset(ask("placement", f"/resource_providers/{uuid}/inventories")["inventories"])
            for uuid in sorted(wanted)
        },
        agents=ask("network", "/v2.0/agents")["agents"],
    )


def lacking(cloud: Cloud, hosts: Iterable[str]) -> list[Aside]:
    """Return the first missing step of each host, in the order in which a host joins."""
    return [lack for host in hosts for lack in islice(_of_host(cloud, host), 1)]


def _of_host(cloud: Cloud, host: str) -> Iterator[Aside]:
    def lack(layer: str, reason: str, remedy: str) -> Aside:
        return Aside(host=host, layer=layer, reason=reason, remedy=remedy)

    agents = [one for one in cloud.agents if one.get("host") == host and _of_ovn(one)]
    controllers = [one for one in agents if "Controller" in str(one.get("agent_type"))]
    log = f"journalctl -n 50 on {host}:"
    if not controllers:
        yield lack(
            "network", "OVN's southbound database has no chassis of it", f"{log} -u ovn-controller; ovs-vsctl show"
        )
    if dead := [str(one["agent_type"]) for one in agents if not one.get("alive")]:
        yield lack("network", f"not alive: {', '.join(dead)}", f"{log} -u ovn-controller -u neutron-ovn-agent")
    services = [one for one in cloud.services if one.get("host") == host]
    if not services:
        yield lack(
            "message queue", "its nova-compute has never reported", f"{log} -u nova-compute: it waits for RabbitMQ"
        )
    if down := [str(one.get("state")) for one in services if one.get("state") != "up"]:
        yield lack("service", f"its nova-compute is {down[0]}", f"{log} -u nova-compute")
    reasons = (str(one.get("disabled_reason") or "") for one in services)
    if own := [reason for reason in reasons if reason.startswith(OWN)]:
        yield lack("service", f"its nova-compute takes no guests: {own[0]}", f"{log} -u nova-compute -u libvirtd")
    if host not in cloud.hypervisors:
        yield lack(
            "service",
            "no cell has mapped it yet",
            "nova-scheduler does so by itself (discover_hosts_in_cells_interval); see its log",
        )
    elif cloud.hypervisors[host] not in cloud.providers:
        yield lack("service", "Placement has no resource provider of it", f"{log} -u nova-compute: Placement's answer")
    if missing := INVENTORY - cloud.inventories.get(cloud.hypervisors.get(host, ""), frozenset()):
        yield lack(
            "service",
            f"its resource provider has no {', '.join(sorted(missing))}",
            f"{log} -u nova-compute: what it reserves may be all there is",
        )


def _of_ovn(agent: Mapping[str, Any]) -> bool:
    return "OVN" in str(agent.get("agent_type"))
