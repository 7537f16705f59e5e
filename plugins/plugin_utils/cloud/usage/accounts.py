"""Use by project over a period: Nova's records, which know deleted instances; of all else what lives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ...errors import GroundupError
from ..resources.api import CloudApi
from .rows import UsageRow, gather

_PAGED = "2.40"  # the first microversion of Nova that gives its records page by page
_GIB = 1 << 30
Question = Iterator[tuple[str | None, str, float]]  # project's id, name of what, amount


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """From ``start`` to before ``end``, UTC, never later than now."""

    start: datetime
    end: datetime

    def hours(self, begun: datetime) -> float:
        """Return how long something that lives was there."""
        return max(0.0, (self.end - max(self.start, begun)).total_seconds() / 3600)


def period(*, start: str | None, end: str | None, now: datetime) -> Period:
    """Return what was asked for; by default this month until now. Raises GroundupError."""
    first = _time("usage_from", start) if start else now.replace(day=1, hour=0, minute=0, second=0)
    last = _time("usage_to", end) if end else now
    fault = "usage_from is not before usage_to" if first >= last else "usage_from is not past yet" * (first >= now)
    if fault:
        raise GroundupError(
            f"{fault}: {first:%Y-%m-%dT%H:%M:%SZ}, {last:%Y-%m-%dT%H:%M:%SZ}", where="usage_from, usage_to",
            why="nothing was used in no time",
            remedy="name a period that has begun, in UTC: -e usage_from=2026-11-01 -e usage_to=2026-12-01",
        )  # fmt: skip
    return Period(start=first, end=min(last, now))


def _time(field: str, text: str) -> datetime:
    try:
        return moment(text)
    except (ValueError, OverflowError) as error:
        raise GroundupError(
            f"{field} is no date: {text}", where=field, why="the period is not known",
            remedy=f"-e {field}=2026-11-01, or 2026-11-01T12:00:00Z for an hour of it (UTC)",
        ) from error  # fmt: skip


def moment(text: str) -> datetime:
    """Return a time that an API says, or an operator; UTC unless it says another zone. Raises ValueError."""
    found = datetime.fromisoformat(text)
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def instances(api: CloudApi, during: Period) -> list[dict[str, Any]]:
    """Return Nova's record of each instance that was there, deleted ones as well."""
    start, end = (f"{one:%Y-%m-%dT%H:%M:%S}" for one in (during.start, during.end))
    path = f"/os-simple-tenant-usage?detailed=1&start={start}&end={end}"
    found = api.all("compute", path, "tenant_usages", version=_PAGED)  # a project is on every page it has records on
    return [one for project in found for one in project["server_usages"]]


def rows(api: CloudApi, during: Period, services: frozenset[str]) -> tuple[list[UsageRow], list[str]]:
    """Return a row a project and resource, and what could not be asked. ``services``: of the site."""
    names = _Names(api, during)
    asked = {
        "nova": lambda: [row for group in _computed(api, during) for row in names.rows(*group)],
        "cinder": lambda: names.rows("volumes", "GiB h", "living", _volumes(api, during)),
        "glance": lambda: names.rows("images", "GiB", "now", _images(api)),
        "neutron": lambda: names.rows("floating_ips", "addresses", "now", _addresses(api)),
    }
    found, unknown = gather({name: ask for name, ask in asked.items() if name in services})
    return sorted(found, key=lambda row: (row.domain, row.project, row.project_id)), unknown


def _computed(api: CloudApi, during: Period) -> Iterator[tuple[str, str, str, Question]]:
    found = instances(api, during)

    def each(amount: str, unit: float = 1) -> Question:
        return ((one["tenant_id"], "", one["hours"] * one[amount] / unit) for one in found)

    yield "instances", "h", "period", ((one["tenant_id"], one["flavor"], one["hours"]) for one in found)
    yield "vcpus", "vCPU h", "period", each("vcpus")
    yield "memory", "GiB h", "period", each("memory_mb", 1024)
    yield "disks", "GiB h", "period", each("local_gb")


def _volumes(api: CloudApi, during: Period) -> Question:
    for one in volumes(api):
        hours = during.hours(moment(one["created_at"]))
        yield one["os-vol-tenant-attr:tenant_id"], one["volume_type"] or "", one["size"] * hours


def volumes(api: CloudApi) -> list[dict[str, Any]]:
    return api.all("block_storage", "/volumes/detail?all_tenants=1", "volumes")


def _images(api: CloudApi) -> Question:
    for hidden in ("false", "true"):
        for one in api.all("image", f"/images?visibility=all&limit=1000&os_hidden={hidden}", "images"):
            yield one["owner"], "", (one["size"] or 0) / _GIB


def _addresses(api: CloudApi) -> Question:
    for one in api.all("network", "/floatingips?fields=project_id", "floatingips"):
        yield one["project_id"], "", 1


class _Names:
    """Rows with the names of projects and domains; those of a deleted project are empty, its id stays."""

    def __init__(self, api: CloudApi, during: Period) -> None:
        self._start, self._end = (f"{one:%Y-%m-%dT%H:%M:%SZ}" for one in (during.start, during.end))
        self._projects: Mapping[str, Any] = {one["id"]: one for one in api.all("identity", "/projects", "projects")}
        self._domains = {one["id"]: one["name"] for one in api.all("identity", "/domains", "domains")}

    def rows(self, resource: str, unit: str, covers: str, found: Question) -> Iterator[UsageRow]:
        """Yield the sums by project and name."""
        sums: dict[tuple[str, str], float] = defaultdict(float)
        for project, name, amount in found:
            sums[project or "", name] += amount
        for (project, name), amount in sorted(sums.items()):
            known = self._projects.get(project, {})
            domain = known.get("domain_id", "")
            if amount:
                yield UsageRow(
                    start=self._start, end=self._end, domain_id=domain, domain=self._domains.get(domain, ""),
                    project_id=project, project=known.get("name", ""), resource=resource, name=name,
                    amount=round(amount, 4), unit=unit, covers=covers,
                )  # fmt: skip
