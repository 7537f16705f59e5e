"""What matching says: an affected part, or something that is not known."""

from __future__ import annotations

from dataclasses import dataclass

from .parts import Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A part that an advisory affects."""

    part: Part
    advisory: str
    fixed: str  # the version that fixes it; empty: none yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """Something that could not be held against the advisories, and why."""

    holders: tuple[str, ...]
    why: str
