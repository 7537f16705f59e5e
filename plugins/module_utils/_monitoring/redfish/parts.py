"""Power supplies, fans and temperatures of a machine: by Power and Thermal, or by the subsystems that follow them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from .controller import ROOT, Resource

Get = Callable[[str], Resource]
_ABSENT = ("Absent", "Disabled")  # a slot with nothing in it; what is not used
_WIDE = 64  # characters of a name
# Upper thresholds, the first that is told: what is over it will soon be switched off.
_LIMITS = ("UpperThresholdCritical", "UpperThresholdFatal", "UpperThresholdNonCritical")
_NEW_LIMITS = ("UpperCritical", "UpperFatal", "UpperCaution")


class MachinePart(NamedTuple):
    """One part of a machine."""

    kind: str  # power supply | fan | temperature
    name: str  # unique among those of its machine
    ok: bool
    celsius: float | None = None
    limit: float | None = None


def parts(get: Get) -> Iterator[MachinePart]:
    """Yield each part that is there."""
    names: set[tuple[str, str]] = set()
    for chassis in _members(get, get(f"{ROOT}Chassis")):
        for kind, one in _told(get, chassis):
            state = _inner(one, "Status")
            if state.get("State") in _ABSENT:
                continue
            told = _name(kind, one)
            name = next(name for name in _numbered(told) if (kind, name) not in names)
            names.add((kind, name))
            yield MachinePart(
                kind,
                name,
                state.get("Health") in (None, "OK") and state.get("State") != "UnavailableOffline",
                _number(one, "ReadingCelsius"),
                _limit(one),
            )


def _told(get: Get, chassis: Resource) -> Iterator[tuple[str, Resource]]:
    power, thermal = (_followed(get, chassis, name) for name in ("Power", "Thermal"))
    supplies = [*_listed(power, "PowerSupplies"), *_listed(power, "Redundancy")]
    fans, degrees = [*_listed(thermal, "Fans"), *_listed(thermal, "Redundancy")], _listed(thermal, "Temperatures")
    if not supplies:
        power = _followed(get, chassis, "PowerSubsystem")
        supplies = [*_members(get, _followed(get, power, "PowerSupplies")), *_listed(power, "PowerSupplyRedundancy")]
    if not fans and not degrees:
        thermal = _followed(get, chassis, "ThermalSubsystem")
        fans = [*_members(get, _followed(get, thermal, "Fans")), *_listed(thermal, "FanRedundancy")]
        degrees = [*_sensors(get, _followed(get, thermal, "ThermalMetrics"))]
    for kind, found in (("power supply", supplies), ("fan", fans), ("temperature", degrees)):
        yield from ((kind, one) for one in found)


def _sensors(get: Get, metrics: Resource) -> Iterator[Resource]:
    """Yield temperatures as `Thermal` has them: each with its sensor's thresholds and health."""
    for one in _listed(metrics, "TemperatureReadingsCelsius"):
        source = one.get("DataSourceUri")
        sensor = get(source) if isinstance(source, str) and source.startswith(ROOT) else {}
        limits = _inner(sensor, "Thresholds")
        yield {
            "Name": one.get("DeviceName") or sensor.get("Name"),
            "ReadingCelsius": one.get("Reading"),
            "Status": sensor.get("Status"),
            **{old: _inner(limits, new).get("Reading") for old, new in zip(_LIMITS, _NEW_LIMITS, strict=True)},
        }


def _followed(get: Get, one: Resource, name: str) -> Resource:
    path = _path(one.get(name))
    return get(path) if path else {}


def _members(get: Get, collection: Resource) -> list[Resource]:
    paths = map(_path, _listed(collection, "Members"))
    return [found for path in paths if path and (found := get(path))]


def _path(link: Any) -> str:
    """Return where a link of Redfish leads to, "" for none: nowhere else is anything asked."""
    path = link.get("@odata.id") if isinstance(link, dict) else None
    return path if isinstance(path, str) and path.startswith(ROOT) else ""


def _inner(one: Resource, name: str) -> Resource:
    found = one.get(name)
    return found if isinstance(found, dict) else {}


def _listed(one: Resource, name: str) -> list[Resource]:
    found = one.get(name)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _name(kind: str, one: Resource) -> str:
    told = one.get("Name") or one.get("FanName") or (f"{kind} redundancy" if "RedundancyType" in one else kind)
    return "".join(letter for letter in str(told) if letter.isprintable())[:_WIDE]


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name} {number}" for number in itertools.count(2))


def _limit(one: Resource) -> float | None:
    return _first(_number(one, name) for name in _LIMITS)


def _first(numbers: Iterable[float | None]) -> float | None:
    """Return the first number; many controllers say 0 for a threshold that they have not."""
    return next((number for number in numbers if number), None)


def _number(one: Resource, name: str) -> float | None:
    found = one.get(name)
    return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else None
