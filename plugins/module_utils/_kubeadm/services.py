"""The services of a node, and that they run by what their files say."""

from __future__ import annotations

from collections.abc import Callable

from .._mark import MARKS, Mark
from .host import Host
from .outcome import Outcome
from .spec import Paths


class Service:
    """One systemd unit, and whether it has yet to take up what was replaced, in this run or in one that failed."""

    def __init__(self, unit: str, *, host: Host, paths: Paths, outcome: Outcome, check: bool) -> None:
        """Name the ``unit``."""
        self._unit = unit
        self._host = host
        self._outcome = outcome
        self._check = check
        self._mark = Mark(unit, directory=paths.at(str(MARKS)))
        self._stale = bool(self._mark)

    def replacing(self) -> Callable[[], None]:
        """Note that what the unit reads when it starts is replaced; call what is returned just before that."""
        self._stale = True
        return self._mark.set

    def converge(self, *, start: bool) -> None:
        """Have the unit start at boot and run by what its files say now; without ``start``, only if it runs.

        Raises NodeError, OSError.
        """
        if self._stale:
            self._systemctl("daemon-reload")
        if not self._host.enabled(self._unit):
            self._outcome.note(f"enable {self._unit}")
            self._systemctl("enable", self._unit)
        if start or self._stale:
            active = self._host.active(self._unit)
            if active and self._stale:
                self._outcome.note(f"restart {self._unit}")
                self._systemctl("restart", self._unit)
            elif not active and start:
                self._outcome.note(f"start {self._unit}")
                self._systemctl("restart", self._unit)
        if not self._check:
            self._mark.clear()

    def _systemctl(self, *arguments: str) -> None:
        if not self._check:
            self._host.systemctl(*arguments)
