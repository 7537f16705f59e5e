"""Traits of resource providers in Placement, and allocations on them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from openstack.exceptions import ConflictException, raise_from_response

DISABLED = "COMPUTE_STATUS_DISABLED"  # set by Nova while the provider's compute service is disabled
_VERSION = "1.18"  # the first that lists providers by trait
_ALLOCATIONS = "1.28"  # the first that tells the generation of a consumer
_TRIES = 4  # nova-compute writes traits of the same provider, too


def known(admin: Any, prefix: str) -> list[str]:
    """Return the traits whose names begin with ``prefix``."""
    return [str(one) for one in call(admin, "get", f"/traits?name=startswith:{prefix}")["traits"]]


def providers_with(admin: Any, trait: str) -> frozenset[str]:
    """Return the ids of providers that have ``trait``."""
    found = call(admin, "get", f"/resource_providers?required={trait}")["resource_providers"]
    return frozenset(str(one["uuid"]) for one in found)


def define(admin: Any, trait: str) -> None:
    """Create a custom trait."""
    call(admin, "put", f"/traits/{trait}")


def forget(admin: Any, trait: str) -> None:
    """Delete a trait that no provider has."""
    call(admin, "delete", f"/traits/{trait}")


def change(admin: Any, provider: str, *, give: Iterable[str] = (), take: Iterable[str] = ()) -> None:
    """Add and remove traits of one provider; its others stay."""
    path = f"/resource_providers/{provider}/traits"
    give, take = set(give), set(take)
    for attempt in range(_TRIES):
        found = call(admin, "get", path)
        after = (set(found["traits"]) | give) - take
        if after == set(found["traits"]):
            return
        body = {"resource_provider_generation": found["resource_provider_generation"], "traits": sorted(after)}
        try:
            call(admin, "put", path, json=body)
        except ConflictException:  # the generation changed meanwhile
            if attempt == _TRIES - 1:
                raise
        else:
            return


def elsewhere(admin: Any, consumer: str, provider: str) -> bool:
    """Return whether a consumer has allocations on other providers than ``provider``, too."""
    return bool(call(admin, "get", f"/allocations/{consumer}", version=_ALLOCATIONS)["allocations"].keys() - {provider})


def withdraw(admin: Any, consumer: str, provider: str) -> None:
    """Remove a consumer's allocation on one provider; those on others stay. Raises ConflictException if they change."""
    path = f"/allocations/{consumer}"
    found = call(admin, "get", path, version=_ALLOCATIONS)
    kept = {one: {"resources": of["resources"]} for one, of in found["allocations"].items() if one != provider}
    if kept and provider in found["allocations"]:
        call(admin, "put", path, version=_ALLOCATIONS, json={**found, "allocations": kept})


def call(admin: Any, verb: str, path: str, *, version: str = _VERSION, **body: Any) -> Any:
    """Send a request to Placement; return the answer. Raises what openstacksdk raises."""
    answer = getattr(admin.placement, verb)(path, microversion=version, **body)
    raise_from_response(answer)
    return answer.json() if answer.content else {}
