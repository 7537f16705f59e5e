"""Steps between OpenStack releases. Pure.

Sources: the release cadence (a SLURP release may be left for the next SLURP release; each release for the next), and
each Nova's own `SERVICE_VERSION` and `OLDEST_SUPPORTED_SERVICE_VERSION`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...kube.types import Object
from ...kube.workloads import images

_TAG = re.compile(r":(20\d\d\.[12])(?!\d)[^:/@]*(?:@|$)")  # of an image of OpenStack: 2026.1, 2025.2-ubuntu_noble


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenStackStep:
    """How a release is reached."""

    after: tuple[str, ...]  # releases it may follow
    nova: int  # version of its Nova's services
    oldest: str = ""  # the oldest release whose services its Nova starts with


STEPS: dict[str, OpenStackStep] = {
    "2025.1": OpenStackStep(after=(), nova=68),
    "2025.2": OpenStackStep(after=("2025.1",), nova=70, oldest="2025.1"),
    "2026.1": OpenStackStep(after=("2025.1", "2025.2"), nova=72, oldest="2025.1"),
    "2026.2": OpenStackStep(after=("2026.1",), nova=74, oldest="2026.1"),
}
_NO_WAY = "restore a backup set of before, or go forward"


def releases(items: Iterable[Object]) -> frozenset[str]:
    """Return the OpenStack releases of the images that ``items`` run, by their tags."""
    found = {of_image(image) for item in items for image in images(item)}
    return frozenset(found - {""})


def of_image(image: str) -> str:
    """Return the OpenStack release that the tag of an image tells, "" when it tells none."""
    found = _TAG.search(image)
    return found[1] if found else ""


def refusal(before: str, after: str) -> tuple[str, str] | None:
    """Return why one release may not follow another, and what to do; None when it may, or both are one."""
    if before == after:
        return None
    if unknown := [one for one in (before, after) if one not in STEPS]:
        known = ", ".join(STEPS)
        return f"no step from {before} to {after} is known: {unknown[0]} is none of {known}", f"use one of {known}"
    if before in STEPS[after].after:
        return None
    if found := way(before, after):
        return (
            f"{after} may not follow {before}: it follows {' or '.join(STEPS[after].after)}",
            f"upgrade in steps: {' → '.join(found)}",
        )
    return f"{after} is older than {before}: databases are migrated forward only", _NO_WAY


def way(before: str, after: str, follows: Mapping[str, Iterable[str]] | None = None) -> tuple[str, ...]:
    """Return the shortest way of allowed steps, both ends included; none when there is none.

    ``follows``: what each may follow; None: releases of OpenStack.
    """
    follows = {name: step.after for name, step in STEPS.items()} if follows is None else follows
    ways: list[tuple[str, ...]] = [(after,)]
    seen = {after}
    while ways:
        one = ways.pop(0)
        for former in follows.get(one[0], ()):
            if former == before:
                return (before, *one)
            if former not in seen:
                seen.add(former)
                ways.append((former, *one))
    return ()


def oldest_service(release: str) -> int:
    """Return the oldest version of a service that Nova of ``release`` starts with; 0 when that is not known."""
    step = STEPS.get(release)
    return STEPS[step.oldest].nova if step and step.oldest else 0
