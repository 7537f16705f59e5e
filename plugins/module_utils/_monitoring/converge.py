"""Converge what monitoring runs on one host."""

from __future__ import annotations

from typing import Any

from .._base.changes import Changes
from .._host import ownership, watched
from . import central, exporter, host_timer, sender, smart_timer
from .host_metrics import smart


def converge(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Converge the host to the options ``given``; return the module's result. Raises GroundupError, OSError."""
    ownership.refuse_other(given["site"])
    fresh = not smart.PROGRAM.exists()
    exporter.converge(changes, given)
    host_timer.converge(changes, namespace=given["namespace"])
    if smart_timer.PACKAGE in given["packages"]:
        smart_timer.converge(changes, fresh=fresh)
    if not given["logs"]:
        watched.remove_logs(changes)
    if given["central"]:
        central.converge(changes, {**given, **given["central"]})
    else:
        watched.remove(changes, central_only=True)  # monitoring.host was this one
    if given["logs"]:
        sender.converge(changes, given)
    exporter.tell_certificates(changes)  # last: monitoring's own, too
    return changes.result()
