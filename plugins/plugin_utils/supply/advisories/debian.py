"""Debian's security tracker as a file: source package -> CVE -> release -> state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from pydantic import BaseModel

from .match import Match, Unknown
from .parts import Part
from .versions import ORDERS, VersionError

_HARMLESS = "unimportant"  # Debian's word for what is no vulnerability in its packages


class State(BaseModel):
    """What the tracker says of one CVE in one release."""

    status: Literal["open", "resolved", "undetermined"]
    fixed_version: str = ""
    urgency: str = ""


class Issue(BaseModel):
    """One CVE of a source package."""

    releases: dict[str, State]


def matches(parts: Iterable[Part], tracker: dict[str, Any]) -> Iterator[Match | Unknown]:
    """Yield what of ``parts`` is affected, and what is not known. Raises ValidationError (pydantic)."""
    own = [part for part in parts if part.ecosystem == "Debian"]
    known = {release for issues in tracker.values() for issue in issues.values() for release in issue["releases"]}
    for release in sorted({part.release for part in own} - known):
        holders = [part.holder for part in own if part.release == release]
        yield Unknown(
            holders=tuple(dict.fromkeys(holders)),
            why=f"the tracker's file says nothing of Debian's release {release or 'without a name'}",
        )
    found: dict[str, dict[str, Issue]] = {}
    for part in own:
        if part.name not in found:
            issues = tracker.get(part.name, {})
            found[part.name] = {name: Issue.model_validate(one) for name, one in issues.items()}
        for name, issue in found[part.name].items():
            state = issue.releases.get(part.release)
            if state and (said := _said(part, name, state)):
                yield said


def _said(part: Part, name: str, state: State) -> Match | Unknown | None:
    """Return what the tracker's ``state`` of the CVE ``name`` says of ``part``."""
    if state.urgency == _HARMLESS:
        return None
    if state.status == "undetermined":
        return Unknown(holders=(part.holder,), why=f"{name} of {part.name}: Debian has not determined it")
    if state.status == "open":
        return Match(part=part, advisory=name, fixed="")
    before = ORDERS["Debian"]
    try:
        # 0: it never was in this release.
        if state.fixed_version not in ("", "0") and before(part.version) < before(state.fixed_version):
            return Match(part=part, advisory=name, fixed=state.fixed_version)
    except VersionError as error:
        return Unknown(holders=(part.holder,), why=f"{name} of {part.name}: {error}")
    return None
