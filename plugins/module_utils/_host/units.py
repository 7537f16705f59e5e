"""Converge systemd units: enabled, running, and restarted after a change of their files, even by a killed run.

A unit is marked before the first of its files is replaced, and the mark is removed after its restart, so the next
run completes what this one could not. Marks lie in /run, because a reboot starts every unit with its new files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from .._base import files
from .._base.changes import Changes
from .._base.run import run

MARKS = Path("/run/groundup-marks")  # not /run/groundup: a lab removes that, and a controller can also be a host
ACTIVE = ("active", "reloading", "activating")
TIMEOUT = 600.0  # seconds: longer than a unit may take to stop and to start


def properties(unit: str, *names: str) -> dict[str, str]:
    """Return properties of ``unit`` as systemd shows them, even when the unit does not exist."""
    return _properties(run(["systemctl", "show", "--property", ",".join(names), "--", unit]))


def control(verb: str, unit: str) -> None:
    """Run systemctl ``verb`` (start, stop, restart, reload) for ``unit``. Raises GroundupError."""
    run(["systemctl", verb, "--", unit], remedy=f"journalctl -u {unit} -n 50", timeout=TIMEOUT)


def off(changes: Changes, names: Sequence[str]) -> None:
    """Stop and disable the units ``names``; a missing one is skipped. Asks systemd once for all.

    A unit that was stopped during its start counts as failed and makes the host degraded: that state is reset.
    """
    if not names:
        return
    shown = run(["systemctl", "show", "--property", "Id,LoadState,ActiveState,UnitFileState", "--", *names])
    for name, block in zip(names, shown.strip().split("\n\n"), strict=True):
        state = _properties(block)
        on = state.get("ActiveState") in (*ACTIVE, "failed") or state.get("UnitFileState") == "enabled"
        if on and state.get("LoadState") == "loaded" and changes.add(f"stop and disable {name}"):
            run(["systemctl", "disable", "--quiet", "--now", "--", name], timeout=TIMEOUT)
            if properties(name, "ActiveState").get("ActiveState") == "failed":
                run(["systemctl", "reset-failed", "--", name])


def _active(state: dict[str, str]) -> bool:
    # systemd also calls a unit in a restart loop "activating": it does not run.
    return state.get("ActiveState") in ACTIVE and "auto-restart" not in state.get("SubState", "")


def _properties(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


class Unit:
    """A unit and the files it reads."""

    def __init__(
        self,
        changes: Changes,
        name: str,
        *,
        on_change: Literal["reload", "restart"] | None = "restart",
        healthy: Callable[[], object] | None = None,
        marks: Path | None = None,
    ) -> None:
        """Set the unit, and the verb that makes it read changed files; None: its next start, which the caller decides.

        ``healthy`` is called after a start and raises when the unit does not serve: systemd counts a unit that exits at
        once as started. ``marks``: another directory, for tests only.
        """
        self._changes = changes
        self._name = name
        self._on_change = on_change
        self._healthy = healthy
        self._mark = (marks or MARKS) / f"{name}.changed"
        self._stale = self._mark.exists()

    @property
    def stale(self) -> bool:
        """Whether a file it reads was replaced since its start, or would be in check mode."""
        return self._stale

    @property
    def active(self) -> bool:
        """Whether it runs now."""
        return _active(properties(self._name, "ActiveState", "SubState"))

    def place(self, path: Path, content: str, **how: object) -> None:
        """Like `files.place`, for a file that this unit reads."""
        self._stale |= files.place(self._changes, path, content, before=self.mark, **how)  # type: ignore[arg-type]  # options of `files.place`

    def generate(self, path: Path, text: str) -> None:
        """Like `files.generate`, for a file that this unit reads."""
        self._stale |= files.generate(self._changes, path, text, before=self.mark)

    def replaced(self) -> None:
        """Record that a file of this unit is replaced; call `mark` just before that."""
        self._stale = True

    def mark(self) -> None:
        """Mark the unit: the next run restarts it if this one does not. Raises OSError."""
        self._mark.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        self._mark.touch()

    def running(self) -> None:
        """Enable and start the unit, with the present content of its files."""
        self._converge(enable=True, start=True)

    def refreshed(self, *, enable: bool = False) -> None:
        """Apply changed files if the unit runs; with ``enable``, also start it at boot."""
        if enable or self._stale:
            self._converge(enable=enable, start=False)

    def _converge(self, *, enable: bool, start: bool) -> None:
        state = properties(self._name, "ActiveState", "SubState", "UnitFileState", "NeedDaemonReload")
        if state.get("NeedDaemonReload") == "yes" and not self._changes.check:
            run(["systemctl", "daemon-reload"])
        if enable and state.get("UnitFileState") in ("disabled", "") and self._changes.add(f"enable {self._name}"):
            run(["systemctl", "enable", "--quiet", "--", self._name])
        verb = (self._on_change if self._stale else None) if _active(state) else ("start" if start else None)
        if verb and self._changes.add(f"{verb} {self._name}"):
            control(verb, self._name)
            if self._healthy:
                self._healthy()
        if not self._changes.check:
            self._mark.unlink(missing_ok=True)
