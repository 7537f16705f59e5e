"""What a module did, or would do: the one record that check mode, diff mode and the result are made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


class HostError(Exception):
    """The host cannot be brought to what is wanted. The text says what, where, why and what to do, a line each."""

    def __init__(self, what: str, *, where: str, why: str, remedy: str) -> None:
        """Keep the four lines."""
        super().__init__(f"{what}\n  where:  {where}\n  why:    {why}\n  remedy: {remedy}")


@dataclass
class Changes:
    """Everything one run of a module changed, in order."""

    check: bool  # predict only
    done: list[str] = field(default_factory=list)  # one line each, no secrets
    diffs: list[dict[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, line: str) -> bool:
        """Note a change; return whether it is to be carried out now."""
        self.done.append(line)
        return not self.check

    def diff(self, *, what: str, before: str, after: str) -> None:
        """Note how ``what`` changed."""
        self.diffs.append({"before_header": what, "after_header": what, "before": before, "after": after})

    def result(self) -> dict[str, Any]:
        """Return what a module returns."""
        return {"changed": bool(self.done), "changes": self.done, "diff": self.diffs}
