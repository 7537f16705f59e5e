"""What a run learned of a host and did to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .._base.changes import Changes
from .state import Membership


@dataclass(slots=True, kw_only=True)
class NodeResult:
    """Collected step by step."""

    changes: Changes
    membership: Membership = Membership.BLANK  # what the host is now
    joins: bool = False  # it is prepared and needs an invitation
    due: list[str] = field(default_factory=list)  # certificates that end soon, static pods that have to start again
    ca: str | None = None  # SHA-256 of the CA of the cluster it belongs to
    certificates: dict[str, int] = field(default_factory=dict)  # days left, by file

    def result(self) -> dict[str, Any]:
        """Return the module's result."""
        return {
            **self.changes.result(),
            "membership": self.membership.value,
            "joins": self.joins,
            "due": self.due,
            "ca": self.ca,
            "certificates": self.certificates,
        }
