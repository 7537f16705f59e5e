"""The services of a node, and that they run by what their files say."""

from __future__ import annotations

import time
from collections.abc import Callable

from .._mark import MARKS, Mark
from .errors import UnwellError
from .host import Host
from .outcome import Outcome
from .spec import Paths

PATIENCE = 60.0  # seconds from a start until it says that it is well; one that is takes two


class Service:
    """One systemd unit, and whether it has yet to take up what was replaced, in this run or in one that failed."""

    def __init__(
        self, unit: str, *, host: Host, paths: Paths, outcome: Outcome, check: bool, health: int | None = None
    ) -> None:
        """Name the ``unit``, and the port of the host's own where it says that it is well, if it does."""
        self._unit = unit
        self._health = health
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
            if self._stale if active else start:
                self._outcome.note(f"{'restart' if active else 'start'} {self._unit}")
                self._systemctl("restart", self._unit)
                self._await_health()
        if not self._check:
            self._mark.clear()

    def _await_health(self) -> None:
        """Wait until the unit is well: systemd takes one that ends at once for started. Raises UnwellError."""
        if self._check or self._health is None:
            return
        until = time.monotonic() + PATIENCE
        while not self._host.well(self._health):
            if time.monotonic() > until:
                raise UnwellError(
                    f"{self._unit} does not run {PATIENCE:.0f} s after its start",
                    where=f"host {self._host.name}, http://127.0.0.1:{self._health}/healthz",
                    why="its node would take no pods and soon count as lost; settings this run replaced are put back",
                    remedy=f"see journalctl -u {self._unit} on the host; if it names a field of its settings, "
                    "correct kubernetes.kubelet of the site file; then run this again",
                )
            time.sleep(0.5)

    def _systemctl(self, *arguments: str) -> None:
        if not self._check:
            self._host.systemctl(*arguments)
