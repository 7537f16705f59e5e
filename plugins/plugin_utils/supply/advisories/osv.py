"""Records in OSV's format, which PyPI's, OpenStack's and Debian's advisories come in: https://ossf.github.io/osv-schema."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from packaging.utils import canonicalize_name
from pydantic import BaseModel, model_validator

from ...layers.systems import SYSTEMS
from .match import Match, Unknown
from .parts import Part
from .versions import ORDERS, Order, VersionError

_FIRST = "0"  # as `introduced`: before every version
_EVENTS = ("introduced", "fixed", "last_affected", "limit")


class Range(BaseModel):
    """A range of versions: events, each one key and a version."""

    type: str
    events: list[dict[str, str]]

    @model_validator(mode="after")
    def _known_events(self) -> Range:
        if any(len(event) != 1 or not set(event) <= set(_EVENTS) for event in self.events):
            raise ValueError(f"an event is one of: {', '.join(_EVENTS)}")
        return self


class Package(BaseModel):
    """A package by ecosystem ("PyPI", "Debian:13") and name."""

    ecosystem: str
    name: str


class Affected(BaseModel):
    """One package of an advisory, and its affected versions."""

    package: Package | None = None
    ranges: list[Range] = []
    versions: list[str] = []


class Record(BaseModel):
    """One advisory."""

    id: str
    aliases: list[str] = []
    withdrawn: str | None = None
    affected: list[Affected] = []

    @property
    def name(self) -> str:
        """Return the id, with the CVE it stands for."""
        cves = [one for one in self.aliases if one.startswith("CVE-") and one != self.id]
        return f"{self.id} ({cves[0]})" if cves else self.id


def matches(parts: Iterable[Part], records: Iterable[Any]) -> Iterator[Match | Unknown]:
    """Yield what of ``parts`` is affected, and what is not known. Raises ValidationError (pydantic)."""
    installed: dict[tuple[str, str, str], list[Part]] = defaultdict(list)
    for part in parts:
        installed[part.ecosystem, part.release, part.name].append(part)
    for record in map(Record.model_validate, records):
        for one in () if record.withdrawn else record.affected:
            for part in installed.get(_key(one.package), ()) if one.package else ():
                if said := _said(part, one, record.name):
                    yield said


def _key(package: Package) -> tuple[str, str, str]:
    ecosystem, _, release = package.ecosystem.partition(":")
    if ecosystem == "Debian" and release in SYSTEMS:
        return ecosystem, SYSTEMS[release].codename, package.name
    return ecosystem, release, canonicalize_name(package.name) if ecosystem == "PyPI" else package.name


def _said(part: Part, one: Affected, advisory: str) -> Match | Unknown | None:
    """Return what the entry ``one`` of ``advisory`` says of ``part``."""
    order = ORDERS.get(part.ecosystem)
    ranges = [span for span in one.ranges if span.type == "ECOSYSTEM"]
    if order is None or not (ranges or one.versions):
        reason = f"versions of {part.ecosystem} are not compared" if order is None else "it names commits, no versions"
        return Unknown(holders=(part.holder,), why=f"{advisory} of {part.name} ({part.version} is here): {reason}")
    try:
        within = [span for span in ranges if _within(part.version, span, order)]
        if not within and not any(_same(part.version, other, order) for other in one.versions):
            return None
        fixes = [event["fixed"] for span in within or ranges for event in span.events if "fixed" in event]
        later = sorted((fix for fix in fixes if order(fix) > order(part.version)), key=order)
    except VersionError as error:
        return Unknown(holders=(part.holder,), why=f"{advisory} of {part.name}: {error}")
    return Match(part=part, advisory=advisory, fixed=later[0] if later else "")


def _same(version: str, other: str, order: Order) -> bool:
    """Say whether two versions are the same. One that follows no rules is the same by its letters alone."""
    try:
        return version == other or bool(order(version) == order(other))
    except VersionError:
        return False


def _within(version: str, span: Range, order: Order) -> bool:
    """Say whether ``version`` is in the range: the last event before it decides, as OSV's specification says."""
    events = [(kind, value) for event in span.events for kind, value in event.items()]
    limits = [value for kind, value in events if kind == "limit" and value != "*"]
    if limits and not any(order(version) < order(limit) for limit in limits):
        return False
    affected = any(kind == "introduced" and value == _FIRST for kind, value in events)
    others = [one for one in events if one[1] not in (_FIRST, "*") and one[0] != "limit"]
    for kind, value in sorted(others, key=lambda one: order(one[1])):
        if kind == "introduced" and order(version) >= order(value):
            affected = True
        elif (kind == "fixed" and order(version) >= order(value)) or (
            kind == "last_affected" and order(version) > order(value)
        ):
            affected = False
    return affected
