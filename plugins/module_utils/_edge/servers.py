"""Take an API server out of this host's HAProxy before it restarts, and put it back.

What is out is read from HAProxy itself: a reload forgets it, and a run that was killed leaves it out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.wait import wait_until
from . import admin
from .admin import statistics, told

BACKEND = "kubernetes"
UP = "UP"
# Drained, in maintenance, or not checked: only somebody's command leads to these, never a check.
_OUT = ("DRAIN", "MAINT", "no check")


def out(servers: dict[str, dict[str, str]]) -> list[str]:
    """Return the API servers that a command took out, of the states that `statistics` tells."""
    return sorted(name for name, state in servers.get(BACKEND, {}).items() if state.startswith(_OUT))


def take_out(changes: Changes, wanted: dict[str, Any]) -> dict[str, Any]:
    """Send no new connection to an API server; return the module's result. Raises GroundupError.

    Open ones go on until it closes them itself, so its checks pause: they would cut them. The last that is up stays in.
    """
    name, states = wanted["server"], _states()
    others = [one for one, state in states.items() if one != name and state.startswith(UP)]
    if name not in states or not others:
        return {"changed": False, "out": False}
    if not changes.check:
        told(f"disable health {BACKEND}/{name}")
        told(f"set server {BACKEND}/{name} state drain")
    return {"changed": False, "out": True}  # for the time of its restart


def put_back(changes: Changes, wanted: dict[str, Any]) -> dict[str, Any]:
    """Let checks decide on an API server again; return the module's result. Raises GroundupError."""
    if wanted["server"] in out({BACKEND: _states()}) and not changes.check:
        _in(wanted["server"])
    return {"changed": False}


def serve(_: Changes, wanted: dict[str, Any]) -> dict[str, Any]:
    """Wait until this host's HAProxy finds an API server ready; return the module's result. Raises GroundupError."""
    name = wanted["server"]

    def pending() -> str:
        state = _states().get(name, UP)  # HAProxy was never started, or does not know it yet
        return "" if state.startswith(UP) else state

    if state := wait_until(pending, timeout=wanted["timeout"]):
        raise GroundupError(
            f"HAProxy sends nothing to the API server of {name}: {state}",
            where=f"this host's HAProxy, backend {BACKEND}, after {wanted['timeout']} s",
            why="another control host may go away only when clients reach this one",
            remedy=f"on {name}: crictl ps -a, journalctl -u kubelet; then run this again",
        )
    return {"changed": False}


def mend(changes: Changes) -> None:
    """Put back every API server that a killed run left out. Raises GroundupError."""
    for name in out({BACKEND: _states()}):
        if changes.add(f"put {name} back in HAProxy, where it was left out"):
            _in(name)


def _in(name: str) -> None:
    told(f"set server {BACKEND}/{name} state ready")
    told(f"enable health {BACKEND}/{name}")


def _states() -> dict[str, str]:
    """Return the state of each API server; none where HAProxy was never started."""
    if not Path(admin.ADMIN_SOCKET).exists():
        return {}
    return statistics()[1].get(BACKEND, {})
