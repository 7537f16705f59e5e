"""Remove an empty hypervisor from the cloud: aggregates, Nova, Placement, and OVN by Neutron's agents.

Every step checks again whether the host is empty, and finds what an earlier run left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from openstack.exceptions import HttpException, NotFoundException

from ...module_utils._base.changes import Changes
from ...module_utils._base.consent import Reason
from ...module_utils._base.text import few
from ...module_utils._base.wait import wait_until
from ..errors import GroundupError
from . import placement
from .administrator import GATEWAY
from .compute_host import COMPUTE, RETIRE, ComputeHost, disabling, look, unended
from .connection import said
from .drain import occupants

_PAUSE = 3.0
_REPORTS = 30.0  # seconds in which a nova-compute that runs reports: it does so every 10 s


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavingHypervisor:
    """A hypervisor and the cloud's records of it."""

    host: ComputeHost
    address: str  # as nova-compute reported it; "" once Nova has no record of it
    provider: Any | None  # Placement's
    orphans: tuple[str, ...]  # consumers of its allocations that are neither instances nor migrations under way
    evacuated: tuple[str, ...]  # consumers that are instances evacuated from it; they have allocations elsewhere, too
    claims: tuple[str, ...]  # consumers that are other instances, or migrations
    agents: tuple[Any, ...]  # Neutron's
    aggregates: tuple[Any, ...]

    @property
    def found(self) -> bool:
        """Whether the cloud has any record of it."""
        return bool(self.host.service or self.provider or self.agents or self.aggregates)


def survey(cloud: Any, name: str, *, compute_id: str) -> LeavingHypervisor:
    """Return the cloud's records of host ``name``. ``compute_id`` finds its provider once Nova has deleted the host."""
    compute = cloud.compute
    host = look(compute, name)
    known = next((one for one in compute.hypervisors(details=True) if _host(one) == name), None)
    # Nova's id first: deleting the service would delete that provider with its allocations.
    provider = _provider(cloud.placement, [str(known["id"]), compute_id] if known else [compute_id])
    orphans, evacuated, claims = _consumers(cloud, host, provider)
    return LeavingHypervisor(
        host=host,
        address=str(known["host_ip"] or "") if known else "",
        provider=provider,
        orphans=orphans,
        evacuated=evacuated,
        claims=claims,
        agents=tuple(one for one in cloud.network.agents(host=name) if one["host"] == name),
        aggregates=tuple(one for one in compute.aggregates() if name in (one["hosts"] or ())),
    )


def _host(hypervisor: Any) -> str:
    """Return the host name of a hypervisor's service; libvirt's own name may differ."""
    return str((hypervisor["service_details"] or {}).get("host", ""))


def _provider(api: Any, ids: Sequence[str]) -> Any | None:
    for one in ids:
        found = [each for each in api.resource_providers(id=one) if each["id"] == one]
        if found:
            return found[0]
    return None


def _consumers(cloud: Any, host: ComputeHost, provider: Any | None) -> tuple[tuple[str, ...], ...]:
    """Return the consumers of a provider's allocations: orphans, evacuated instances, and claims."""
    if provider is None:
        return (), (), ()
    moving = {str(one["uuid"]) for one in host.migrations}
    # Nova's own record, while the host is forced down: only its nova-compute would take these allocations away.
    away = set(unended(cloud.compute, host.name)) if host.evacuated else set()
    away -= {str(one["id"]) for one in host.servers}
    orphans: list[str] = []
    evacuated: list[str] = []
    claims: list[str] = []
    for consumer in sorted(str(one["consumer_id"]) for one in _allocations(cloud.placement, provider)):
        if consumer not in moving and not _is_server(cloud.compute, consumer):
            orphans.append(consumer)
        elif consumer in away and placement.elsewhere(cloud, consumer, _id(provider)):
            evacuated.append(consumer)
        else:
            claims.append(consumer)
    return tuple(orphans), tuple(evacuated), tuple(claims)


def _allocations(api: Any, provider: Any) -> list[Any]:
    try:
        return list(api.resource_provider_allocations(provider["id"]))
    except NotFoundException:  # deleted meanwhile
        return []


def _is_server(compute: Any, consumer: str) -> bool:
    try:
        compute.get_server(consumer)
    except NotFoundException:
        return False
    return True


def reasons(leaving: LeavingHypervisor) -> Iterator[Reason]:
    """Yield reasons against a retirement."""
    name = leaving.host.name
    if words := occupants(leaving.host):
        drain = f"ansible-playbook groundup.cloud.drain -e machine={name}"
        yield Reason(code=None, text=f"it is not empty: {'; '.join(words)}. {drain}")
    elif leaving.claims:
        unset = f"openstack resource provider allocation unset --provider {_id(leaving.provider)} INSTANCE"
        text = f"Placement has allocations on it of {few(leaving.claims)}, which Nova has elsewhere: {unset}"
        yield Reason(code=None, text=text)
    if leaving.orphans:
        text = f"Placement has allocations on it of {few(leaving.orphans)}, which Nova does not know; they would go"
        yield Reason(code="allocations", text=text)


def _id(provider: Any | None) -> str:
    return str(provider["id"]) if provider else ""


def _withdrawn(leaving: LeavingHypervisor, consumer: str) -> str:
    return f"delete the allocation on {leaving.host.name} of {consumer}, which was evacuated"


def foreseen(leaving: LeavingHypervisor) -> list[str]:
    """Return a retirement's actions, one line each, in order."""
    name = leaving.host.name
    lines = disabling(leaving.host, RETIRE)
    lines += [f"delete the allocations of {one}" for one in leaving.orphans]
    lines += [_withdrawn(leaving, one) for one in leaving.evacuated]
    lines += [f"take {name} out of aggregate {one['name']}" for one in leaving.aggregates]
    lines += [f"delete service {COMPUTE} of {name}"] if leaving.host.service else []
    lines += [f"delete resource provider {leaving.provider['name']}"] if leaving.provider else []
    return lines + [f"delete agent {one['agent_type']} of {name}" for one in leaving.agents]


def remove(cloud: Any, leaving: LeavingHypervisor, changes: Changes, *, timeout: float) -> None:
    """Remove an empty host with stopped services from the cloud. Raises GroundupError for agents that stay.

    Aggregates go before the service, by which Nova knows them. The provider goes after it: Nova may delete both.
    """
    compute, name = cloud.compute, leaving.host.name
    for consumer in leaving.orphans:
        cloud.placement.delete_allocation(consumer)
        changes.add(f"delete the allocations of {consumer}")
    for consumer in leaving.evacuated:
        placement.withdraw(cloud, consumer, _id(leaving.provider))
        changes.add(_withdrawn(leaving, consumer))
    for aggregate in leaving.aggregates:
        compute.remove_host_from_aggregate(aggregate["id"], name)
        changes.add(f"take {name} out of aggregate {aggregate['name']}")
    if leaving.host.service:
        compute.delete_service(leaving.host.service["id"])
        changes.add(f"delete service {COMPUTE} of {name}")
    if leaving.provider:
        cloud.placement.delete_resource_provider(leaving.provider["id"])
        changes.add(f"delete resource provider {leaving.provider['name']}")
    _agents(cloud.network, name, changes, timeout=timeout)


def _agents(network: Any, name: str, changes: Changes, *, timeout: float) -> None:
    """Delete the host's agents; retry those refused. With the controller's go Chassis and Chassis_Private."""
    refused: dict[str, str] = {}

    def left() -> list[str]:
        refused.clear()
        found = [one for one in network.agents(host=name) if one["host"] == name]
        for one in sorted(found, key=lambda each: "Controller" not in each["agent_type"]):  # the others go with it
            try:
                network.delete_agent(one["id"], ignore_missing=True)
                changes.add(f"delete agent {one['agent_type']} of {name}")
            except HttpException as error:
                if getattr(error, "status_code", 0) in GATEWAY:
                    raise
                refused[str(one["agent_type"])] = str(getattr(error, "details", "") or said(error))
        return [str(one["agent_type"]) for one in network.agents(host=name) if one["host"] == name]

    if still := wait_until(left, timeout=timeout, pause=_PAUSE):
        words = [f"{one}: {refused.get(one, 'it comes back')}" for one in still]
        raise GroundupError(
            f"Neutron keeps its agents: {'; '.join(words)}",
            where=f"hypervisor {name}",
            why="OVN still has its chassis, and ports may be bound to it",
            remedy=f"see that ovn-controller does not run on {name}, then run this again",
        )


def settle(compute: Any, name: str, *, timeout: float) -> bool:
    """Wait until nova-compute is down on a host where it could not be stopped; return whether it is."""
    if wait_until(lambda: look(compute, name).up, timeout=timeout, pause=_PAUSE):
        return False
    if not look(compute, name).evacuated:
        return True
    # Nova calls a host down that is forced down: only the time of its record shows whether it reports.
    before = _reported(compute, name)
    return wait_until(lambda: _reported(compute, name) == before, timeout=_REPORTS, pause=_PAUSE)


def _reported(compute: Any, name: str) -> str:
    service = look(compute, name).service
    return str(service["updated_at"]) if service else ""


def remains(leaving: LeavingHypervisor) -> list[str]:
    """Return the cloud's remaining records of a host."""
    found = [f"service {COMPUTE}"] if leaving.host.service else []
    found += [f"resource provider {leaving.provider['name']}"] if leaving.provider else []
    found += [f"agent {one['agent_type']}" for one in leaving.agents]
    return found + [f"aggregate {one['name']}" for one in leaving.aggregates]
