"""A probe that fails says what its pod said; when that cannot be read, why not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.api import ApiError
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kubernetes import verify

TARGET = {"metadata": {"name": "coredns-1"}, "status": {"podIP": "10.1.0.5"}, "spec": {"nodeName": "control-1"}}


class Cluster:
    """An API server whose probe pod fails, and whose kubelet gives ``log``."""

    def __init__(self, log: tuple[int, str] | ApiError) -> None:
        self.log = log
        self.made: list[str] = []

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        if method == "POST":
            self.made.append((body or {})["kind"])
            return {}
        if method == "DELETE":
            self.made.clear()
            return {}
        if "/pods/" in path:
            failed = [{"state": {"terminated": {"reason": "Error", "exitCode": 1}}}]
            return {
                "metadata": {"name": "probe"},
                "spec": {"nodeName": "worker-1"},
                "status": {"phase": "Failed", "containerStatuses": failed},
            }
        return {"items": []}

    def raw(self, _: str, path: str) -> tuple[int, str]:
        assert path.endswith("/pods/probe/log?tailLines=3")
        if isinstance(self.log, ApiError):
            raise self.log
        return self.log


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ((200, "bash: connect: No route to host\n"), "by name: bash: connect: No route to host"),
        ((200, ""), "probe Failed, and its log is empty"),
        (
            (500, json.dumps({"message": "dial tcp 10.0.0.30:10250: connect: connection refused"})),
            "probe Failed, and its log cannot be read: dial tcp 10.0.0.30:10250: connect: connection refused",
        ),
        ((404, "no such pod"), "probe Failed, and its log cannot be read: HTTP 404: no such pod"),
        (ApiError("https://x does not answer: timed out"), "its log cannot be read: https://x does not answer"),
    ],
    ids=["log", "empty", "kubelet down", "no json", "api down"],
)
def test_a_failed_probe_says_what_its_pod_said_or_why_that_is_not_known(
    log: tuple[int, str] | ApiError, said: str
) -> None:
    cluster = Cluster(log)
    with pytest.raises(GroundupError) as caught:
        verify._probe(cluster, TARGET, dns_domain="cluster.local", image="i", timeout=1.0)  # type: ignore[arg-type]
    assert said in str(caught.value).splitlines()[0]
    assert cluster.made == [], "the probe was not taken away"
