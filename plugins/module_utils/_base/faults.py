"""A fault that becomes an error where its place is known."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import GroundupError


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault before it is an error: cards, findings and reasons against a change."""

    what: str  # with the values at fault
    why: str
    remedy: str

    def at(self, where: str) -> GroundupError:
        return GroundupError(self.what, where=where, why=self.why, remedy=self.remedy)
