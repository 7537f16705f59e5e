"""What no order of steps avoids while control hosts restart: docs/kubernetes.md, of control hosts and etcd."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# A write that another host's etcd passed on to the leader while it handed over: the leader drops it and tells nobody.
# The longer word: another leads within two election time-outs of the write's beginning.
DROPPED = (
    "etcdserver: request timed out",
    "etcdserver: request timed out, possibly due to previous leader failure",
)

# How a client learns that its connection ended before an answer came; TLS has a word of its own.
CUT = {"BrokenPipeError", "ConnectionResetError", "RemoteDisconnected", "SSLEOFError"}


def explained(lane: str, figures: Mapping[str, Any], *, servers: int, told: bool = True) -> bool:
    """Return whether all that failed in a lane of the Kubernetes API could not be avoided.

    ``told``: whether the prober was told the steps. Otherwise cause, words and lane must do, and one write: a lane has
    one request at a time, and the leadership moves once. A lane has one connection, and each of ``servers`` ends once.
    """
    faults = figures["faults"]
    writes = [one for one in faults if lane.startswith("kubernetes write") and inherent(one, told=told)]
    cut = [one for one in faults if lane.startswith("kubernetes") and lane.endswith("kept") and crossed(one, told=told)]
    few = len(cut) <= servers and (told or len(writes) <= 1)
    return few and (figures["failed"], figures["unanswered"]) == (len(writes), len(cut))


def inherent(fault: Mapping[str, Any], *, told: bool = True) -> bool:
    """Return whether etcd itself dropped this write while its leadership moved: what it says then, and nothing else."""
    begun = any("hand over" in step for step in fault["steps"][:1])
    return (begun or not told) and fault["cause"] == "HTTP 500" and fault["said"] in DROPPED


def crossed(fault: Mapping[str, Any], *, told: bool = True) -> bool:
    """Return whether a request crossed the end of its idle HTTP/1.1 connection: HTTP/2 says which it still answers."""
    ends = any("end kube-apiserver" in step for step in fault["steps"])
    return (ends or not told) and fault["cause"] in CUT
