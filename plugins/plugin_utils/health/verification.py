"""Results of verifiers. Running is not healthy: no result relies on a pod's phase.

A verifier is a function of a VerifierContext. An unhealthy service is a result, not an error: a request without an
answer (ApiError, UnansweredError) counts as a failed check. Requests and judgement are separate functions, so that
the judgement is tested without a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Layer = Literal["node", "image", "volume", "network", "database", "message queue", "credentials", "chart", "service"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of one check of a service."""

    name: str
    ok: bool
    detail: str
    layer: Layer = "service"
    object: str = ""  # the object to look at when it is not ok


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """All checks of a release or of the site, and facts for the operator."""

    checks: tuple[Check, ...]
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Return whether every check passed (and there was one)."""
        return bool(self.checks) and all(check.ok for check in self.checks)
