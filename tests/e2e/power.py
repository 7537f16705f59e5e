"""Taking the power from members of the database, and waiting for them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api

WORKLOAD = "/apis/apps/v1/namespaces/openstack/statefulsets/mariadb-server"
PODS = "/api/v1/namespaces/openstack/pods"
MERGE = "application/merge-patch+json"


def member(api: Api, ordinal: int) -> dict[str, Any]:
    """Return the pod of a Galera member."""
    return dict(api.get(f"{PODS}/mariadb-server-{ordinal}"))


def cut_power(api: Api, host: Any, pod: dict[str, Any]) -> None:
    """End a member without a farewell: frozen first, its server cannot tell the others that it leaves."""
    uid = pod["metadata"]["uid"]
    chosen = f"crictl ps --quiet --name '^mariadb$' --label io.kubernetes.pod.uid={uid}"
    pid = "crictl inspect --output go-template --template '{{.info.pid}}'"
    found = host.run(f'sudo sh -c "{pid} $({chosen})"')
    assert found.rc == 0, found.stderr
    assert host.run(f"sudo kill -STOP {int(found.stdout)}").rc == 0
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 1}
    api.request("DELETE", f"{PODS}/{pod['metadata']['name']}", body=body)


@contextmanager
def cordoned(api: Api, nodes: list[str]) -> Iterator[None]:
    """Take no new pods on ``nodes`` while the block runs."""

    def mark(*, unschedulable: bool) -> None:
        for node in nodes:
            body = {"spec": {"unschedulable": unschedulable}}
            api.request("PATCH", f"/api/v1/nodes/{node}", body=body, content_type=MERGE)

    mark(unschedulable=True)
    try:
        yield
    finally:
        mark(unschedulable=False)


def await_members(api: Api, count: int, *, seconds: float) -> None:
    """Wait until exactly ``count`` members are ready. Raises AssertionError when they are not in time."""
    end = time.monotonic() + seconds
    while (ready := int((api.get(WORKLOAD).get("status") or {}).get("readyReplicas", 0))) != count:
        assert time.monotonic() < end, f"{ready} of {count} members are ready"
        time.sleep(1.0)
