"""A probe that fails says what its pod said; when that cannot be read, why not."""

from __future__ import annotations

import datetime
import itertools
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import probe, verify
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import ApiError

TARGET = {"metadata": {"name": "coredns-1"}, "status": {"podIP": "10.1.0.5"}, "spec": {"nodeName": "control-1"}}


def stamp(age: float) -> str:
    """Return the time ``age`` seconds ago as the API server writes it."""
    then = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=age)
    return then.strftime("%Y-%m-%dT%H:%M:%SZ")


class Cluster:
    """An API server whose probe pod fails, and whose kubelet gives ``log``."""

    def __init__(self, log: str | ApiError) -> None:
        self.log = log
        self.made: dict[str, dict[str, str]] = {}  # path -> metadata
        self.patience: list[str] = []

    def request(self, method: str, path: str, *, body: Mapping[str, Any]) -> dict[str, Any]:
        assert method == "POST"
        self.made[f"{path}/{body['metadata']['name']}"] = body["metadata"] | {"creationTimestamp": stamp(0)}
        if body["kind"] == "Pod":
            environment = body["spec"]["containers"][0]["env"]
            self.patience += [entry["value"] for entry in environment if entry["name"] == "PATIENCE"]
        return {}

    def delete(self, path: str, **_query: str) -> None:
        del self.made[path]

    def get(self, path: str, **_query: str) -> dict[str, Any]:
        if "/pods/" in path:
            failed = [{"state": {"terminated": {"reason": "Error", "exitCode": 1}}}]
            return {
                "metadata": {"name": "probe"},
                "spec": {"nodeName": "worker-1"},
                "status": {"phase": "Failed", "containerStatuses": failed},
            }
        return {"items": [{"metadata": m} for key, m in self.made.items() if key.rpartition("/")[0] == path]}

    def text(self, path: str, *, tailLines: str) -> str:  # noqa: N803  # the API's word
        assert (path.endswith("/pods/probe/log"), tailLines) == (True, "3")
        if isinstance(self.log, ApiError):
            raise self.log
        return self.log


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("bash: connect: No route to host\n", "by name: bash: connect: No route to host"),
        ("", "probe Failed, and its log is empty"),
        (
            ApiError("dial tcp 10.0.0.30:10250: connect: connection refused", where="x", status=500),
            "probe Failed, and its log cannot be read: dial tcp 10.0.0.30:10250: connect: connection refused",
        ),
    ],
    ids=["log", "empty", "kubelet down"],
)
def test_a_failed_probe_says_what_its_pod_said_or_why_that_is_not_known(log: str | ApiError, said: str) -> None:
    cluster = Cluster(log)
    with pytest.raises(GroundupError) as caught:
        probe.probe(cluster, TARGET, dns_domain="cluster.local", image="i", timeout=31.0)  # type: ignore[arg-type]  # a stand-in
    assert said in str(caught.value).splitlines()[0]
    assert cluster.made == {}, "the probe was not taken away"


def test_a_probe_another_run_waits_for_stays_and_one_from_long_ago_goes() -> None:
    cluster = Cluster("")
    pods = "/api/v1/namespaces/kube-system/pods"
    for name, age in (("of-another-run", 60), ("left", 7200)):
        cluster.made[f"{pods}/{name}"] = {"name": name, "creationTimestamp": stamp(age)}
    with pytest.raises(GroundupError):
        probe.probe(cluster, TARGET, dns_domain="cluster.local", image="i", timeout=31.0)  # type: ignore[arg-type]  # a stand-in
    assert list(cluster.made) == [f"{pods}/of-another-run"]


class Replacing:
    """An API server whose Deployment of CoreDNS is being replaced, and has settled when asked ``steps`` times."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def get(self, path: str, **_query: str) -> dict[str, Any]:
        if path.endswith("/coredns"):
            self.steps -= 1
            updated = 2 if self.steps <= 0 else 1
            return {
                "metadata": {"generation": 2},
                "status": {"observedGeneration": 2, "replicas": 2, "updatedReplicas": updated},
            }
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        leaving = {"name": "old", "deletionTimestamp": stamp(0)}
        return {"items": [{"metadata": leaving, "status": ready}, {"metadata": {"name": "new"}, "status": ready}]}


def test_the_probe_asks_a_pod_that_stays() -> None:
    """One that is about to go answers no longer when the probe calls it: No route to host."""
    cluster = Replacing(steps=2)
    pod = verify._dns(cluster, timeout=5.0)  # type: ignore[arg-type]  # a stand-in
    assert (pod["metadata"]["name"], cluster.steps) == ("new", 0)
    with pytest.raises(GroundupError, match="CoreDNS does not serve: new"):
        verify._dns(Replacing(steps=100), timeout=0.0)  # type: ignore[arg-type]  # a stand-in


@pytest.mark.parametrize(("timeout", "patience"), [(120.0, "90"), (20.0, "10")])
def test_the_probe_asks_also_when_little_time_is_given(timeout: float, patience: str) -> None:
    cluster = Cluster("")
    with pytest.raises(GroundupError):
        probe.probe(cluster, TARGET, dns_domain="cluster.local", image="i", timeout=timeout)  # type: ignore[arg-type]  # a stand-in
    assert cluster.patience == [patience]


def ask(port: int, *, patience: float) -> subprocess.CompletedProcess[str]:
    """Run what the probe's pod runs; a pause takes 20 of its seconds and none of ours."""
    pod = probe.client("p", host="127.0.0.1", image="i", not_on=[], patience=patience)
    container = pod["spec"]["containers"][0]
    environment = {entry["name"]: entry["value"] for entry in container["env"]} | {"PORT": str(port)}
    *bash, script = container["command"]
    pause = "sleep() { SECONDS=$((SECONDS + 20)); echo paused; }\n"
    return subprocess.run([*bash, pause + script], check=False, capture_output=True, text=True, env=environment)


def test_the_probe_asks_as_long_as_the_clusters_dns_may_need_after_an_outage_of_the_api() -> None:
    done = ask(9, patience=90.0)
    assert (done.returncode, done.stdout.count("paused")) == (1, 5)
    assert "refused" in done.stdout


def serve(connection: socket.socket) -> None:
    """Take a whole request and answer it."""
    with connection.makefile("rb") as request:
        lines = list(itertools.takewhile(lambda line: line != b"\r\n", request))
    assert lines[0].startswith(b"GET /health ")
    connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n")


def answered(listener: socket.socket, *, before: Callable[[], None] = lambda: None) -> subprocess.CompletedProcess[str]:
    """Return how a probe ends that is answered after ``before``."""

    def answer() -> None:
        before()
        connection, _ = listener.accept()
        with connection:
            serve(connection)

    thread = threading.Thread(target=answer)
    thread.start()
    done = ask(listener.getsockname()[1], patience=90.0)
    thread.join()
    return done


def test_the_probe_asks_again_when_its_connection_is_lost_while_it_writes() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def lose() -> None:
            lost, _ = listener.accept()
            lost.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            lost.close()  # resets it

        done = answered(listener, before=lose)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("paused\nanswer: HTTP/1.0 200 OK\n")


def test_the_probe_ends_with_the_first_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        done = answered(listener)
    assert (done.returncode, done.stdout) == (0, "answer: HTTP/1.0 200 OK\n")
