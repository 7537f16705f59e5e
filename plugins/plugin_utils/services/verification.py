"""What a verifier answers. Running is not healthy (H6): no answer comes from a pod's phase.

A verifier is a function of a VerifierContext. An unhealthy service is an answer, not an error: a question without an
answer (ApiError, UnansweredError) counts as a failed check. Asking and judging are
separate functions, so that the judgement is tested without a cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ..errors import GroundupError

if TYPE_CHECKING:
    from ..rollout.verify.context import VerifierContext

Layer = Literal["node", "image", "volume", "network", "database", "message queue", "credentials", "chart", "service"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One question put to a service, and its answer."""

    name: str
    ok: bool
    detail: str
    layer: Layer = "service"
    object: str = ""  # the object to look at when it is not ok


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """All answers of one release, or of the site, and what is worth telling the operator."""

    checks: tuple[Check, ...]
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Return whether every check passed (and there was one)."""
        return bool(self.checks) and all(check.ok for check in self.checks)


Verifier = Callable[["VerifierContext"], Verification]


class UnansweredError(GroundupError):
    """A question that got no answer; ``what`` says why."""

    def __init__(self, what: str, *, where: str) -> None:
        """Keep why, and who was asked."""
        super().__init__(what, where=where, why="only its answer tells whether it works", remedy="see its log")
