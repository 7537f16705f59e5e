"""Pods of a service of which one copy runs, their Lease and their clock, for the tests of `elected.py`."""

from __future__ import annotations

import sys
import urllib.error
from collections.abc import Callable
from typing import Any

from .conftest import script

elected = script("groundup-lib/files/elected.py")
lease = sys.modules["lease"]


class Cluster:
    """One Lease, as the API serves it, and a clock that everybody shares. ``down``: who gets no answer."""

    def __init__(self) -> None:
        self.now, self.version, self.spec = 1000.0, 1, dict[str, Any]()
        self.down: set[str] = set()
        self.before_patch: Callable[[], None] = lambda: None

    def clock(self) -> float:
        return self.now


class Api:
    """The API as one pod reaches it."""

    def __init__(self, cluster: Cluster, pod: str) -> None:
        self.cluster, self.pod = cluster, pod

    def call(self, method: str, _path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        cluster = self.cluster
        if self.pod in cluster.down:
            raise OSError("timed out")
        if method == "PATCH":
            assert body is not None
            cluster.before_patch()
            if body["metadata"]["resourceVersion"] != str(cluster.version):
                raise urllib.error.HTTPError("", 409, "conflict", None, None)  # type: ignore[arg-type]  # no headers are read
            cluster.version += 1
            cluster.spec |= body["spec"]
        return {"metadata": {"resourceVersion": str(cluster.version)}, "spec": dict(cluster.spec)}


class Process:
    """A service that ends when it is told to, or only when it is killed."""

    def __init__(self, *, stubborn: bool = False) -> None:
        self.status, self.stubborn = 0, stubborn
        self.up, self.starts, self.killed = False, 0, 0

    def start(self) -> None:
        assert not self.up
        self.up, self.starts = True, self.starts + 1

    def runs(self) -> bool:
        return self.up

    def tell(self) -> None:
        self.up = self.up and self.stubborn

    def kill(self) -> None:
        self.up, self.killed = False, self.killed + 1


class Pod:
    """A copy whose two threads take turns, ten times a second, as long as it is not ``frozen``."""

    def __init__(self, cluster: Cluster, name: str, *, stubborn: bool = False) -> None:
        self.cluster, self.service = cluster, Process(stubborn=stubborn)
        shared = elected.SharedObject(Api(cluster, name), collection="/c", name="n")
        self.lease = lease.Lease(shared, own=name, clock=cluster.clock)
        self.elector = elected.Elector(self.lease, self.service, grace=25.0, clock=cluster.clock)
        self.next, self.frozen, self.status = 0.0, False, None

    def step(self) -> None:
        if self.frozen or self.status is not None:
            return
        if self.cluster.now >= self.next:
            self.next = self.cluster.now + self.elector.ask()
        self.status = self.elector.guard()
        if self.status is not None:
            self.lease.release()


def pass_time(seconds: float, *pods: Pod) -> None:
    """Let time pass, and see that no two of the services run at any moment."""
    cluster = pods[0].cluster
    end = cluster.now + seconds
    while cluster.now < end:
        for pod in pods:
            pod.step()
        assert sum(pod.service.up for pod in pods) <= 1, f"two run at {cluster.now}"
        cluster.now += 0.1


def until(condition: Callable[[], bool], *pods: Pod, limit: float = 60.0) -> float:
    """Let time pass until ``condition``; return how many seconds."""
    begun = pods[0].cluster.now
    while not condition():
        pass_time(0.1, *pods)
        assert pods[0].cluster.now < begun + limit
    return pods[0].cluster.now - begun
