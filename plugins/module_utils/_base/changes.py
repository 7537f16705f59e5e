"""What a module did, or would do: the one record behind check mode, diff mode and the result."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Changes:
    """Everything one run of a module changed, in order."""

    check: bool  # predict only
    done: list[str] = field(default_factory=list)  # one line each, no secrets
    diffs: list[dict[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    written: set[Path] = field(default_factory=set)  # files whose content changed, in check mode too

    def add(self, line: str, *, name: str = "", before: str = "", after: str = "") -> bool:
        """Note a change, with a diff of ``name``; return whether it is to be carried out now."""
        self.done.append(line)
        if name:
            self.diffs.append({"before_header": name, "after_header": name, "before": before, "after": after})
        return not self.check

    def result(self) -> dict[str, Any]:
        """Return what a module returns."""
        return {"changed": bool(self.done), "changes": self.done, "diff": self.diffs}
