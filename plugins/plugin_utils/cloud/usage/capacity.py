"""What there is, what is used and when it is full: hypervisors by zone and aggregate, pools of volumes, addresses."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from openstack.exceptions import NotFoundException

from .. import placement
from ..resources.api import CloudApi
from .accounts import Period, instances, moment, volumes
from .rows import CapacityRow, gather

# Placement's resource classes: what rows call them, and what an instance in Nova's records has of it.
_CLASSES = {"VCPU": ("vcpus", "vCPU", "vcpus"), "PCPU": ("dedicated_vcpus", "vCPU", ""),
            "MEMORY_MB": ("memory", "MiB", "memory_mb"), "DISK_GB": ("disks", "GiB", "local_gb")}  # fmt: skip
_DISK = "DISK_GB"
_VERSION = "2.53"  # the first microversion of Nova whose hypervisors have Placement's ids
_AT_ONCE = 8  # requests to Placement: it has no list of usages
Growth = Mapping[str, float]  # by resource or pool, a day


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hypervisor:
    host: str
    zone: str
    away: bool
    in_ceph: bool  # its disk is the pool that all such hypervisors tell
    inventory: Mapping[str, Mapping[str, float]]
    used: Mapping[str, float]


@dataclass(slots=True, kw_only=True)
class Capacity:
    """A look at a cloud. ``days``: whose growth is taken for the coming ones; ``in_ceph``: hosts with disks in Ceph."""

    api: CloudApi
    now: datetime
    days: int
    in_ceph: frozenset[str] = frozenset()

    def rows(self, services: frozenset[str]) -> tuple[list[CapacityRow], list[str]]:
        """Return all rows, and what could not be asked. ``services``: of the site."""
        asked = {"nova": self._hosts, "cinder": self._pools, "neutron": self._networks}
        return gather({name: ask for name, ask in asked.items() if name in services})

    def _hosts(self) -> Iterator[CapacityRow]:
        found = self._hypervisors()
        grown = self._growth()
        yield from _resources("cloud", "", found, found, grown)
        for zone in sorted({one.zone for one in found}):
            yield from _resources("zone", zone, [one for one in found if one.zone == zone], found)
        for one in sorted(self.api.all("compute", "/os-aggregates", "aggregates"), key=lambda each: str(each["name"])):
            yield from _resources(
                "aggregate", one["name"], [each for each in found if each.host in one["hosts"]], found
            )

    def _hypervisors(self) -> list[_Hypervisor]:
        services = {one["host"]: one for one in self.api.all("compute", "/os-services?binary=nova-compute", "services")}
        listed = self.api.all("compute", "/os-hypervisors/detail", "hypervisors", version=_VERSION)

        def one(known: Mapping[str, Any]) -> _Hypervisor:
            host = str(known["service"]["host"])
            service = services.get(host, {})
            inventory, used = (self._provider(str(known["id"]), part) for part in ("inventories", "usages"))
            return _Hypervisor(
                host=host, zone=str(service.get("zone", "")), in_ceph=host in self.in_ceph,
                inventory=inventory, used=used,
                away=(service.get("state"), service.get("status")) != ("up", "enabled"),
            )  # fmt: skip

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return [*pool.map(one, listed)]

    def _provider(self, identity: str, part: str) -> Mapping[str, Any]:
        try:
            return dict(placement.call(self.api.cloud, "get", f"/resource_providers/{identity}/{part}")[part])
        except NotFoundException:  # a hypervisor that has not reported yet
            return {}

    def _growth(self) -> Growth:
        """Return what instances of now have more than those of then, a day."""
        begin = self.now - timedelta(days=self.days)
        grown = Counter[str]()
        for one in instances(self.api, Period(start=begin, end=self.now)):
            change = (not one["ended_at"]) - (moment(one["started_at"]) <= begin)
            for kind, (_, _, record) in _CLASSES.items():
                grown[kind] += change * one[record] if record else 0
        return {kind: amount / self.days for kind, amount in grown.items()}

    def _pools(self) -> Iterator[CapacityRow]:
        begin = self.now - timedelta(days=self.days)
        grown: dict[str, float] = defaultdict(float)
        for one in volumes(self.api):
            grown[str(one["os-vol-host-attr:host"])] += one["size"] * (moment(one["created_at"]) > begin) / self.days
        for pool in self.api.all("block_storage", "/scheduler-stats/get_pools?detail=True", "pools"):
            said = pool["capabilities"]
            total, left = (_number(said.get(f"{one}_capacity_gb")) for one in ("total", "free"))
            reserved = None if total is None else total * (_number(said.get("reserved_percentage")) or 0) / 100
            capacity = None if total is None or reserved is None else total - reserved
            yield _row(
                "pool", pool["name"], "volumes", "GiB", total=total, reserved=reserved, capacity=capacity,
                used=None if total is None or left is None else total - left,
                free=None if left is None else max(0.0, left - (reserved or 0)),
                provisioned=next((found for one in ("provisioned", "allocated")
                                  if (found := _number(said.get(f"{one}_capacity_gb"))) is not None), None),
                growth=grown[pool["name"]],
            )  # fmt: skip

    def _networks(self) -> Iterator[CapacityRow]:
        fields = "&".join(f"fields={one}" for one in ("id", "router:external", "provider:physical_network"))
        outer = {one["id"] for one in self.api.all("network", f"/networks?{fields}", "networks")
                 if one["router:external"] or one.get("provider:physical_network")}  # fmt: skip
        floating = Counter(
            one["floating_network_id"]
            for one in self.api.all("network", "/floatingips?fields=floating_network_id", "floatingips")
        )
        path, plural = "/network-ip-availabilities?ip_version=4", "network_ip_availabilities"
        for one in self.api.all("network", path, plural):
            if one["network_id"] in outer:
                total, used = float(one["total_ips"]), float(one["used_ips"])
                yield _row("network", one["network_name"], "addresses", "addresses", total=total, capacity=total,
                           used=used, free=max(0.0, total - used))  # fmt: skip
                yield _row("network", one["network_name"], "floating_ips", "addresses",
                           used=float(floating[one["network_id"]]))  # fmt: skip


def _resources(
    scope: str, name: str, hosts: list[_Hypervisor], every: list[_Hypervisor], growth: Growth | None = None
) -> Iterator[CapacityRow]:
    """Yield a row a resource of ``hosts``. What disabled hosts and those that are down have left is not free."""
    for kind, (resource, unit, record) in _CLASSES.items():
        having = [one for one in hosts if kind in one.inventory]
        shared = [one for one in having if kind == _DISK and one.in_ceph]
        own = [one for one in having if one not in shared]
        # The largest stands for the pool: each of them tells it whole.
        counted = [*own, *sorted(shared, key=lambda one: _capacity(one, kind))[-1:]]
        if not counted:
            continue
        total, reserved = (sum(one.inventory[kind][part] for one in counted) for part in ("total", "reserved"))
        capacity = sum(_capacity(one, kind) for one in counted)
        free = sum(_free(one, kind, [one]) for one in own if not one.away)
        if any(not one.away for one in shared):
            free += _free(counted[-1], kind, [one for one in every if one.in_ceph])
        yield _row(
            scope, name, resource, unit, hosts=len(having), hosts_away=sum(one.away for one in having), total=total,
            reserved=reserved, ratio=capacity / (total - reserved) if total > reserved else None, capacity=capacity,
            used=sum(one.used.get(kind, 0) for one in having), free=free,
            growth=(growth or {}).get(kind, 0.0) if growth is not None and record else None,
        )  # fmt: skip


def _capacity(one: _Hypervisor, kind: str) -> float:
    count = one.inventory[kind]
    return (count["total"] - count["reserved"]) * count["allocation_ratio"]


def _free(one: _Hypervisor, kind: str, users: Iterable[_Hypervisor]) -> float:
    return max(0.0, _capacity(one, kind) - sum(each.used.get(kind, 0) for each in users))


def _number(value: Any) -> float | None:
    """Return a figure of a pool; None for "unknown" and "infinite"."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if found < float("inf") else None


def _row(
    scope: str, name: str, resource: str, unit: str, *, growth: float | None = None, **figures: Any
) -> CapacityRow:
    free = figures.get("free")
    figures |= {
        "growth_per_day": growth,
        "days_left": free / growth if growth and growth > 0 and free is not None else None,
    }
    rounded: dict[str, Any] = {key: round(one, 2) if isinstance(one, float) else one for key, one in figures.items()}
    return CapacityRow(scope=scope, name=name, resource=resource, unit=unit, **rounded)
