"""Compare a planned resource with what it is in the cloud; and what both are called in messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import collapse_addresses, ip_network
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ....module_utils._base.yaml_text import dump
from .index import Index, UnmetError
from .kinds import KINDS, PROPERTY, SELF, SERVICES
from .parts import ordered

if TYPE_CHECKING:
    from ...plan.part_types import ResourcePlan

Found = dict[str, Any]
_NAMED = 3  # ids in a message
_BEGUN, _BEGINS = ("PENDING", "BUILD", "ALLOCATING"), timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Step:
    """What differs of one resource."""

    planned: ResourcePlan
    found: Found | None  # None: to be made
    fields: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, tuple[Any, Any]] = field(default_factory=dict)  # before, after
    broken: Found | None = None  # what a killed run left, and is to be deleted first


def label(kind: str, name: str, *, project: str = "", domain: str = "") -> str:
    """Return what a resource is called in messages."""
    place = f" of project {project}" if project else f" of domain {domain}" if domain else ""
    return f"{kind.replace('_', ' ')} {name}{place}"


def said(one: ResourcePlan) -> str:
    """Return what a planned resource is called in messages."""
    return label(one.kind, one.name, project=one.place, domain="" if one.place else one.domain)


def of_tenants(one: ResourcePlan) -> bool:
    """Return whether others than the cloud's administrators may make or change it: members of its project or domain."""
    return bool(one.place) or one.kind in ("project", "group", "account")


def compare(index: Index, one: ResourcePlan) -> tuple[Step | None, list[str]]:
    """Return what differs of ``one``, and why it must not be changed. Raises UnmetError."""
    kind, what = KINDS[one.kind], said(one)
    if not index.served(one.kind):
        raise UnmetError(
            f"{what}: the site has no {SERVICES[kind.service]}", where=f"site file key {one.key}", why="it needs it",
            remedy=f"write {SERVICES[kind.service]} into openstack.services",
        )  # fmt: skip
    found = index.choose(one)
    if found is None and (same := index.alike[one.key]):
        theirs = "is there, and not" if len(same) == 1 else f"is there {len(same)} times ({_ids(same)}), and none"
        return None, [f"{what} {theirs} from this site file"]
    wanted, parts_ = index.ids([values(index, one, found), parts(index, one)], one, made=False)
    if found is None:
        return Step(one, None), []
    if kind.half(found):
        return Step(one, None, broken=found), []
    fields = {key: value for key, value in wanted.items() if key in found and not same_value(key, found[key], value)}
    fields |= {key: wanted[key] for key in wanted.keys() - found.keys() if kind.service == "image"}
    refused = [
        f"{what}: {key} is {found.get(key)} and cannot become {fields[key]}" for key in kind.fixed if key in fields
    ]
    differing: dict[str, tuple[Any, Any]] = {}
    for name, value in parts_.items():
        part, after = kind.parts[name], form(value)
        if (before := part.read(index.api, found, after)) != after:
            differing[name] = before, after
            refused += [f"{what}: {why}" for why in part.refuse(index.api, found, after)]
            if part.fixed and before:
                refused.append(f"{what}: {name} cannot be changed; delete it, or write another name")
    return (Step(one, found, fields, differing) if fields or differing else None), refused


def noticed(index: Index, one: ResourcePlan) -> Iterator[str]:
    """Yield what an operator has to know of ``one``, although a run leaves it as it is."""
    kind, what, found = KINDS[one.kind], said(one), index.chosen.get(one.key)
    if found is None:
        return
    if same := index.alike[one.key]:
        yield f"{what}: {len(same)} more have this name and are not from this site file ({_ids(same)}): they stay"
    for name, (on, key) in kind.switches.items():
        written = name in one.values or (kind.service == "image" and name == "status" and "active" in one.parts)
        if name in found and found[name] != on and not written and not kind.half(found) and found[name] != "queued":
            why = f"the site file does not write {key}" if key else "the site file has no word for it"
            yield f"{what}: {name} is {found[name]}, and stays so: {why}"


def unsettled(index: Index, one: ResourcePlan) -> tuple[str, bool]:
    """Return what is said of ``one`` if it is there and does not work, "" else; and whether it may yet."""
    found = index.chosen.get(one.key)
    status = KINDS[one.kind].unsettled(found) if found else ""
    if found is None or not status:
        return "", False
    times = [str(found.get(key) or "").rstrip("Z") for key in ("created_at", "updated_at")]
    last = max((datetime.fromisoformat(text).replace(tzinfo=UTC) for text in times if text), default=None)
    begun = status in _BEGUN and last is not None and datetime.now(UTC) - last < _BEGINS
    service = SERVICES[KINDS[one.kind].service]
    return f"{said(one)} is {status} in the cloud: see the log of {service}", begun


def values(index: Index, one: ResourcePlan, found: Found | None = None) -> dict[str, Any]:
    """Return the fields of a resource with its mark. ``found``: None for a new one."""
    kind, site = KINDS[one.kind], index.plan.site
    fields = {**({} if found else kind.new), **one.values}
    if kind.mark == "description":
        fields["description"] = kind.text(str(fields.get("description") or ""), site)
    elif kind.mark == "property" and not kind.at:
        identity = found["id"] if found else index.api.ledger.making.get(one.key) or str(uuid4())
        fields |= {PROPERTY: site, SELF: identity, **({} if found else {"id": identity})}
    return fields


def parts(index: Index, one: ResourcePlan) -> dict[str, Any]:
    """Return the parts of a resource; its mark is in one of them, perhaps."""
    at = KINDS[one.kind].at
    return {**one.parts, at: {**one.parts[at], PROPERTY: index.plan.site}} if at else dict(one.parts)


def shown(value: Any) -> str:
    """Return what is wanted of a new resource as text, with names for references."""

    def plain(part: Any) -> Any:
        if isinstance(part, Mapping) and ("$id" in part or "$secret" in part):
            return f"<{part.get('name') or part['$secret']}>"
        if isinstance(part, Mapping):
            return {key: plain(inner) for key, inner in part.items() if inner not in ("", None, [], {})}
        return [plain(inner) for inner in part] if isinstance(part, list) else part

    return dump(plain(value))


def same_value(key: str, found: Any, wanted: Any) -> bool:
    """Return whether a field says the same: lists in any order, prefixes merged, of mappings what is wanted alone."""
    if key == "prefixes":
        return _merged(found) == _merged(wanted)
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        return all(same_value(inner, found.get(inner), value) for inner, value in wanted.items())
    if isinstance(wanted, list) and isinstance(found, list):
        return bool(ordered(found) == ordered(wanted))
    if isinstance(wanted, int) and isinstance(found, str) and found.isdigit():
        return int(found) == wanted  # Neutron's default_prefixlen
    return bool((found or None) == (wanted or None))


def form(value: Any) -> Any:
    """Return the wanted value of a part as parts read it."""
    return ordered(value) if isinstance(value, list) else value


def _ids(same: list[Found]) -> str:
    return ", ".join([*(str(one["id"]) for one in same[:_NAMED]), *(["..."] if len(same) > _NAMED else [])])


def _merged(prefixes: list[str]) -> list[str]:
    networks = [ip_network(one) for one in prefixes]
    return [str(one) for kind in (4, 6) for one in collapse_addresses(n for n in networks if n.version == kind)]  # type: ignore[type-var]
