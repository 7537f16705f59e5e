"""Explain why no hypervisor takes an instance: Placement's inventory and usage against the flavor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import placement

_CLASSES = (("VCPU", "vcpus"), ("MEMORY_MB", "ram"), ("DISK_GB", "disk"))  # resource class, flavor's field


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A hypervisor's inventory and usage in Placement."""

    name: str
    inventory: Mapping[str, Mapping[str, float]]  # class -> total, reserved, allocation_ratio, max_unit
    used: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """The resources asked for, and the hypervisors."""

    asked: Mapping[str, int]  # class -> amount
    providers: Sequence[Provider]
    candidates: frozenset[str]  # names of Placement's allocation candidates
    away: Mapping[str, str] = field(default_factory=dict)  # host -> its nova-compute is down or disabled
    hosts: frozenset[str] = frozenset()  # with a nova-compute
    aggregates: Mapping[str, Sequence[str]] = field(default_factory=dict)  # host -> names, with metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The cause, and what to do next."""

    what: str
    remedy: str


def look(admin: Any, flavor: Mapping[str, Any]) -> Room:
    """Read providers from Placement, services and aggregates from Nova. Raises what openstacksdk raises."""
    asked = {kind: int(flavor[key]) for kind, key in _CLASSES if flavor[key]}

    def ask(path: str) -> Any:
        return placement.call(admin, "get", path)

    known = ask("/resource_providers")["resource_providers"]
    wanted = ",".join(f"{kind}:{amount}" for kind, amount in asked.items())
    offered = ask(f"/allocation_candidates?resources={wanted}")["provider_summaries"]
    services = list(admin.compute.services(binary="nova-compute"))
    aggregates: dict[str, list[str]] = {}
    for one in admin.compute.aggregates():
        said = ", ".join(f"{key}={value}" for key, value in sorted((one["metadata"] or {}).items()))
        for host in one["hosts"] or ():
            aggregates.setdefault(str(host), []).append(f"{one['name']} ({said})" if said else str(one["name"]))
    return Room(
        asked=asked,
        providers=[
            Provider(
                name=str(one["name"]),
                inventory=ask(f"/resource_providers/{one['uuid']}/inventories")["inventories"],
                used=ask(f"/resource_providers/{one['uuid']}/usages")["usages"],
            )
            for one in known
        ],
        candidates=frozenset(str(one["name"]) for one in known if one["uuid"] in offered),
        away={str(one["host"]): word for one in services if (word := _away(one))},
        hosts=frozenset(str(one["host"]) for one in services),
        aggregates=aggregates,
    )


def _away(service: Mapping[str, Any]) -> str:
    if service["state"] != "up":
        return f"nova-compute is {service['state']}"
    if service["status"] == "disabled":
        return f"disabled ({service['disabled_reason'] or 'no reason given'})"
    return ""


def judge(room: Room) -> Judgement:
    """Return the cause: Placement's inventory or usage, host by host, or a filter of the scheduler."""
    if not room.providers:
        return Judgement(
            what="Placement knows no hypervisor", remedy="run the playbook groundup.cloud.hypervisor, tag verify"
        )
    if not room.candidates:
        empty = [one.name for one in room.providers if not one.inventory]
        claims = "; ".join(f"{one.name}: {', '.join(refused(one, room.asked))}" for one in room.providers)
        if len(empty) == len(room.providers):
            remedy = f"journalctl -n 50 -u nova-compute on {empty[0]}: what it reports to Placement"
        else:
            remedy = (
                "a smaller flavor, or room: openstack resource provider usage show UUID; what is reserved and the "
                "allocation ratios are hardware.<name>.compute of the site file"
            )
        return Judgement(what=f"no hypervisor has room for {_words(room.asked)}: {claims}", remedy=remedy)
    return _filtered(room)


def refused(provider: Provider, asked: Mapping[str, int]) -> Iterator[str]:
    """Yield each resource that a provider lacks, with its figures."""
    if not provider.inventory:
        yield "no inventory"
        return
    fits = True
    for kind, amount in asked.items():
        if kind not in provider.inventory:
            yield f"no {kind}"
            fits = False
            continue
        count = provider.inventory[kind]
        capacity = int((count["total"] - count["reserved"]) * count["allocation_ratio"])
        used = provider.used.get(kind, 0)
        figures = (
            f"of {capacity} ({count['total']:g} - {count['reserved']:g} reserved, x {count['allocation_ratio']:g})"
        )
        if used + amount > capacity:
            yield f"{kind} {amount} asked, {max(capacity - used, 0)} left {figures}"
            fits = False
        elif amount > count["max_unit"]:
            yield f"{kind} {amount} asked, one guest may have {count['max_unit']:g}"
            fits = False
    if fits:
        yield "room enough by its figures"


def _filtered(room: Room) -> Judgement:
    """Return which of Nova's filters exclude Placement's candidates."""
    said = []
    for name in sorted(room.candidates):
        host = _host(name, room)
        if host is None:
            said.append(f"{name}: no nova-compute of it (ComputeFilter)")
        elif host in room.away:
            said.append(f"{name}: {room.away[host]} (ComputeFilter)")
        else:
            groups = "; ".join(room.aggregates.get(host, ())) or "none"
            said.append(f"{name}: by a filter that the scheduler's log names, aggregates: {groups}")
    names = ", ".join(sorted(room.candidates))
    return Judgement(
        what=f"Placement has room on {names}, and Nova's filters take it away: {'; '.join(said)}",
        remedy="openstack compute service list; openstack aggregate list --long; then 'Filter results' in the log of "
        "nova-scheduler: kubectl --namespace openstack logs --selector application=nova,component=scheduler",
    )


def _host(provider: str, room: Room) -> str | None:
    """Return the host of a provider's nova-compute; the provider may have the full host name."""
    return next((host for host in room.hosts if provider == host or provider.partition(".")[0] == host), None)


def _words(asked: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {amount}" for kind, amount in asked.items())
