"""What a run did to a host, or in check mode would do."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .state import Membership


@dataclass(slots=True, kw_only=True)
class Outcome:
    """Collected step by step."""

    membership: Membership = Membership.BLANK  # what the host is now
    actions: list[str] = field(default_factory=list)  # one line each, in order
    diff: list[dict[str, str]] = field(default_factory=list)
    joins: bool = False  # it is prepared and needs an invitation
    due: list[str] = field(default_factory=list)  # certificates that end soon, static pods that have to start again
    predicted: set[Path] = field(default_factory=set)  # in check mode: files that would change
    ca: str | None = None  # SHA-256 of the CA of the cluster it belongs to
    certificates: dict[str, int] = field(default_factory=dict)  # days left, by file

    def note(self, action: str, *, name: str = "", before: str = "", after: str = "") -> None:
        """Record a change; ``name``, ``before`` and ``after`` make its diff."""
        self.actions.append(action)
        if name:
            self.diff.append({"before_header": name, "after_header": name, "before": before, "after": after})

    def result(self) -> dict[str, Any]:
        """Return the module's result."""
        return {
            "changed": bool(self.actions),
            "membership": self.membership.value,
            "actions": self.actions,
            "joins": self.joins,
            "due": self.due,
            "ca": self.ca,
            "certificates": self.certificates,
            "diff": self.diff,
        }
