"""Store of operators' decisions about machines: one file for each machine.

Only this module writes the files. Decisions come from browsers and from the controller's playbooks. A run of the
controller reads the open ones and sends their outcome.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
import time
from pathlib import Path
from typing import Any

VERBS = ("approve", "retry")
MACHINE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")  # becomes a file name
RECORD = ("number", "machine", "verb", "by", "about", "time", "outcome")
TEXT = 400  # maximum length of a text


class RefusedError(Exception):
    """A refused decision, with the reason."""


class Decisions:
    """The newest decision of each machine."""

    def __init__(self, path: Path) -> None:
        """Take the directory and load its decisions; skip incomplete files."""
        self._path, self._lock = path, threading.Lock()
        self._path.mkdir(mode=0o700, exist_ok=True)
        self._kept: dict[str, dict[str, Any]] = {}
        for file in sorted(path.glob("*.json")):
            try:
                found = json.loads(file.read_text())
            except (OSError, ValueError):
                continue
            if isinstance(found, dict) and set(RECORD) <= set(found):
                self._kept[file.stem] = found

    def take(self, machine: Any, verb: Any, by: Any, *, about: str = "") -> dict[str, Any]:
        """Store a decision; return an identical open one unchanged. Raises RefusedError.

        ``about``: the node and its disks, as shown. The decision does not apply to others that come later.
        """
        if not isinstance(machine, str) or not MACHINE.fullmatch(machine) or verb not in VERBS:
            raise RefusedError("a name of a machine, and one of " + ", ".join(VERBS))
        with self._lock:
            before = self._kept.get(machine)
            if before and before["outcome"] is None:
                if (before["verb"], before["about"]) != (verb, about):
                    raise RefusedError(f"{before['verb']} of {before['by']} is not answered yet")
                return before
            return self._keep({
                "number": secrets.token_hex(8), "machine": machine, "verb": verb, "by": str(by)[:TEXT],
                "about": about[:TEXT], "time": round(time.time(), 3), "outcome": None,
            })  # fmt: skip

    def answer(self, number: Any, outcome: Any) -> dict[str, Any]:
        """Store the outcome of a decision. Raises RefusedError when no decision has that number."""
        with self._lock:
            for found in self._kept.values():
                if found["number"] == number:
                    return self._keep({**found, "outcome": str(outcome)[:TEXT], "answered": round(time.time(), 3)})
        raise RefusedError("no decision has that number")

    def open(self) -> list[dict[str, Any]]:
        """Return the decisions without an outcome, oldest first."""
        with self._lock:
            return sorted((one for one in self._kept.values() if one["outcome"] is None), key=lambda one: one["time"])

    def all(self) -> dict[str, dict[str, Any]]:
        """Return all decisions, by machine."""
        with self._lock:
            return dict(self._kept)

    def _keep(self, found: dict[str, Any]) -> dict[str, Any]:
        new = self._path / f".{found['machine']}.new"
        new.write_text(json.dumps(found))
        new.replace(self._path / f"{found['machine']}.json")
        self._kept[found["machine"]] = found
        return found
