"""Record a module's changes: the source of check mode, diff mode and the result."""

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
        """Record a change, with a diff of ``name``; return whether to carry it out now (False in check mode)."""
        self.done.append(line)
        if name:
            self.diffs.append({"before_header": name, "after_header": name, "before": before, "after": after})
        return not self.check

    def result(self) -> dict[str, Any]:
        """Return the module's result: changed, changes and diff."""
        return {"changed": bool(self.done), "changes": self.done, "diff": self.diffs}
