"""Consistency of releases: an endpoint, an account or a count that two of them set must be equal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...health.dotted import at
from ...plan.types import ReleasePlan
from ...services import RECORDS, provider
from ..types import GateReason, against

# Endpoints whose path is each service's own: databases, a virtual host.
_OF_ONE = {"oslo_messaging", *(endpoint for record in RECORDS.values() for endpoint in record.schemas)}


def disagreements(releases: Iterable[ReleasePlan]) -> Iterator[GateReason]:
    """Yield a reason for every value that two releases set differently. Secrets are compared and shown by name."""
    named = {release.name: release for release in releases}
    first: dict[str, tuple[str, Any]] = {}
    for release in named.values():
        endpoints = release.values.get("endpoints")
        for path, value in leaves(endpoints if isinstance(endpoints, Mapping) else {}, "endpoints"):
            if _is_own(release.name, path):
                continue
            who, before = first.setdefault(path, (release.name, value))
            if before != value:
                yield _reason((release.name, path, value), (who, path, before))
    yield from _members(named)
    for record in RECORDS.values():
        for path, other, other_path in record.shares:
            if record.name in named and other in named:
                mine, its = at(named[record.name].values, path), at(named[other].values, other_path)
                if mine is not None and its is not None and mine != its:
                    yield _reason((record.name, path, mine), (other, other_path, its))


def leaves(values: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    """Yield ``(path, value)`` for every leaf; a reference to a secret is a leaf."""
    for key, value in values.items():
        here = f"{path}.{key}"
        if isinstance(value, Mapping) and set(value) != {"$secret"}:
            yield from leaves(value, here)
        elif value is not None:
            yield here, dict(value) if isinstance(value, Mapping) else value


def _is_own(release: str, path: str) -> bool:
    """Return whether a value belongs to one release only: its schemas, its virtual host, its accounts."""
    endpoint, _, rest = path.removeprefix("endpoints.").partition(".")
    record = RECORDS.get(release)
    accounts = [f"auth.{key}." for key in record.accounts] if record and endpoint == "identity" else []
    return (rest == "path" and endpoint in _OF_ONE) or rest.startswith(tuple(accounts))


def _members(named: Mapping[str, ReleasePlan]) -> Iterator[GateReason]:
    """Yield clients with a wrong count of the queue's members: the transport URL lists its pods by name."""
    name = provider("queue").name
    queue = named.get(name)
    members = at(queue.values, "pod.replicas.server") if queue else None
    path = "endpoints.oslo_messaging.statefulset.replicas"
    for release in named.values():
        told = at(release.values, path)
        if members is not None and told is not None and told != members:
            yield _reason((release.name, path, told), (name, "pod.replicas.server", members))


_Place = tuple[str, str, Any]  # release, path, value


def _reason(one: _Place, other: _Place) -> GateReason:
    release, path, value = one
    return against(release, "disagreement")(
        what=f"{path} is {_shown(value)}, but {other[0]} has {_shown(other[2])} at {other[1]}",
        why="one of the two would look for the other in the wrong place, or with the wrong password",
        remedy="set it once: drop the override in openstack.overrides",
    )


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"the secret {value['$secret']}"
    return repr(value)
