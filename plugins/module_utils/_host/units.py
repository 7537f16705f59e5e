"""systemd units: enabled, running, and running what their files say, also when an earlier run did not get so far."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from .._mark import MARKS, Mark
from . import files
from .changes import Changes
from .commands import run


def properties(unit: str, *names: str) -> dict[str, str]:
    """Return properties of ``unit`` as systemd shows them; those of a unit that does not exist are there, too."""
    text = run(["systemctl", "show", "--property", ",".join(names), "--", unit])
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def off(changes: Changes, names: Sequence[str]) -> None:
    """Make every unit of ``names`` disabled and inactive; one that does not exist is. Asks systemd once for all."""
    if not names:
        return
    shown = run(["systemctl", "show", "--property", "Id,LoadState,ActiveState,UnitFileState", "--", *names])
    for name, block in zip(names, shown.strip().split("\n\n"), strict=True):
        state = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        runs = state.get("ActiveState") in ("active", "reloading", "activating")
        wanted = state.get("LoadState") != "loaded" or not (runs or state.get("UnitFileState") == "enabled")
        if not wanted and changes.add(f"{name}: stopped and disabled"):
            run(["systemctl", "disable", "--quiet", "--now", "--", name])


class Unit:
    """One unit and the files it runs by."""

    def __init__(self, changes: Changes, name: str, *, on_change: Literal["reload", "restart"] = "restart") -> None:
        """Name the unit, and what makes it take up changed files."""
        self._changes = changes
        self._name = name
        self._on_change = on_change
        self._mark = Mark(name, directory=MARKS)
        self._stale = bool(self._mark)

    def place(self, path: Path, content: str, **how: object) -> None:
        """Like `files.place`, for a file this unit runs by."""
        self._stale |= files.place(self._changes, path, content, before=self._mark.set, **how)  # type: ignore[arg-type]

    def remove(self, path: Path) -> None:
        """Like `files.remove`, for a file this unit runs by."""
        self._stale |= files.remove(self._changes, path, before=self._mark.set)

    def running(self) -> None:
        """Make the unit enabled and active, with what its files say now."""
        state = properties(self._name, "ActiveState", "UnitFileState")
        if state.get("UnitFileState") == "disabled" and self._changes.add(f"{self._name}: enabled"):
            run(["systemctl", "enable", "--quiet", "--", self._name])
        if state.get("ActiveState") not in ("active", "reloading", "activating"):
            if self._changes.add(f"{self._name}: started"):
                run(["systemctl", "start", "--", self._name], remedy=f"journalctl -u {self._name} -n 50")
        elif self._stale and self._changes.add(f"{self._name}: {self._on_change}ed"):
            run(["systemctl", self._on_change, "--", self._name], remedy=f"journalctl -u {self._name} -n 50")
        if not self._changes.check:
            self._mark.clear()

    def refreshed(self) -> None:
        """Make the unit take up changed files if it runs; whether it should run is not ours to say."""
        if self._stale:
            state = properties(self._name, "ActiveState")
            if state.get("ActiveState") == "active" and self._changes.add(f"{self._name}: {self._on_change}ed"):
                run(["systemctl", self._on_change, "--", self._name], remedy=f"journalctl -u {self._name} -n 50")
            if not self._changes.check:
                self._mark.clear()
