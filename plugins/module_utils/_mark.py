"""A note that a service has yet to take up what it runs by; it outlives the run that made it.

A run that fails or is killed between replacing a file and restarting its reader must be made good by the next one,
which finds the file as wanted. So the mark is set before the file is replaced, and taken away after the restart. It
lies in /run: a reboot clears it, rightly, because then the service starts with the new file.
"""

from __future__ import annotations

from pathlib import Path

MARKS = Path("/run/groundup-marks")  # /run/groundup is of labs, which remove it: a controller may be a host, too


class Mark:
    """The mark of one systemd unit; true while it is set."""

    def __init__(self, unit: str, *, directory: Path = MARKS) -> None:
        """Name the ``unit``; ``directory`` is another one only in tests."""
        self._path = directory / f"{unit}.changed"

    def __bool__(self) -> bool:
        """Say whether it is set."""
        return self._path.exists()

    def set(self) -> None:
        """Set it. Raises OSError."""
        self._path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        self._path.touch()

    def clear(self) -> None:
        """Take it away. Raises OSError."""
        self._path.unlink(missing_ok=True)
