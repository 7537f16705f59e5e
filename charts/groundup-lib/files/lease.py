"""A Lease that one of several pods holds at a time. No host's clock is compared with another's: a Lease is free when it
was seen unchanged for its whole time, measured here (as client-go does it).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from shared_object import SharedObject

LEASE = 10.0  # seconds after which a Lease that was not renewed is free


def uptime() -> float:
    """Return seconds of a clock that never steps, and goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Lease:
    """The Lease in ``shared``, as the pod ``own`` sees it. ``holder``: who had it when it was last read, or ""."""

    def __init__(self, shared: SharedObject, *, own: str, clock: Callable[[], float] = uptime) -> None:
        self._shared, self.own, self._clock = shared, own, clock
        self._version, self._since = "", 0.0
        self.holder = ""

    def take(self) -> float | None:
        """Take or renew it. Return until when nobody else can take it; None when it is not ours, or just changed.

        Raises OSError: the API did not answer, or refused.
        """
        asked = self._clock()
        found, spec = self._read()
        if self.holder not in ("", self.own) and self._clock() - self._since < LEASE:
            return None
        now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())  # for people
        change = {"holderIdentity": self.own, "renewTime": now, "leaseDurationSeconds": int(LEASE)}
        if self.holder != self.own:
            change |= {"acquireTime": now, "leaseTransitions": int(spec.get("leaseTransitions") or 0) + 1}
        if not self._shared.change(found, {"spec": change}):
            return None
        self.holder = self.own
        return asked + LEASE

    def release(self) -> None:
        """Give it up, if it is ours, so that another takes it at once. Raises OSError."""
        found, _ = self._read()
        if self.holder == self.own:
            self._shared.change(found, {"spec": {"holderIdentity": None}})

    def _read(self) -> tuple[dict[str, Any], dict[str, Any]]:
        found = self._shared.read()
        spec, version = found.get("spec") or {}, found["metadata"]["resourceVersion"]
        self.holder = str(spec.get("holderIdentity") or "")
        if version != self._version:
            self._version, self._since = version, self._clock()
        return found, spec
