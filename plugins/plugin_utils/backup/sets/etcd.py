"""etcd's part of a set: a snapshot by its JSON API, its hash checked while it passes."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ....module_utils._base.tls import client_context
from ...errors import GroundupError
from ...kube.client import Api, ApiError
from ...kube.types import resource_path
from ...kube.workloads import is_ready

NAMESPACE, SELECTOR, PORT = "kube-system", "component=etcd,tier=control-plane", 2379
LOOPBACK = "127.0.0.1"  # a name in every member's certificate
FEW = 10  # keys or rows that may come and go while a copy is made
_HASH = 32  # bytes at the end of a snapshot
_TIMEOUT = 120.0  # seconds without an answer
Write = Callable[[bytes], object]


def members(api: Api) -> list[str]:
    """Return the names of etcd's pods that are Ready. Raises GroundupError when none is, ApiError."""
    pods = api.get(resource_path("v1", "pods", namespace=NAMESPACE), labelSelector=SELECTOR)["items"]
    ready = sorted(str(pod["metadata"]["name"]) for pod in pods if is_ready(pod))
    if not ready:
        raise _failed(f"none of {len(pods)} members is Ready", where=f"namespace {NAMESPACE}, pods {SELECTOR}")
    return ready


@contextmanager
def connected(api: Api, pod: str, *, ca: str, certificate: str, key: str) -> Iterator[EtcdConnection]:
    """Yield a connection to a member, through the Kubernetes API, with a control host's credentials."""
    where = f"pod {pod}, port {PORT}"
    try:
        context = client_context(ca=ca, certificate=certificate, key=key)
        with (
            api.connect(NAMESPACE, pod, PORT) as plain,
            context.wrap_socket(plain, server_hostname=LOOPBACK) as secured,
        ):
            yield EtcdConnection(secured, where=where)
    except OSError as error:  # of TLS, or of a member that ends
        raise _failed(f"no TLS with it: {error}", where=where) from error
    except ApiError as error:
        raise _failed(error.message, where=where) from error


class EtcdConnection:
    """Requests to one member on a connection that is given."""

    def __init__(self, connection: socket.socket, *, where: str) -> None:
        """Use ``connection``; ``where``: what an error says it is."""
        connection.settimeout(_TIMEOUT)
        self._http, self._where = http.client.HTTPConnection(LOOPBACK), where
        self._http.sock, self._http.auto_open = connection, 0  # never another connection, to this machine

    def state(self) -> dict[str, Any]:
        """Return version, revision and number of keys. Raises GroundupError."""
        status = self._ask("maintenance/status", {})
        if status.get("errors") or status.get("leader", "0") == "0":
            raise _failed(f"it has no leader, or reports {status.get('errors')}", where=self._where)
        counted = self._ask("kv/range", {"key": "AA==", "range_end": "AA==", "count_only": True})
        return {
            "version": str(status["version"]), "revision": int(counted["header"]["revision"]),
            "keys": int(counted.get("count", 0)),
        }  # fmt: skip

    def snapshot(self, write: Write) -> None:
        """Write a snapshot, as `etcdutl snapshot restore` takes it. Raises GroundupError when it is not whole."""
        digest, tail, left = hashlib.sha256(), b"", -1
        for line in self._lines("maintenance/snapshot"):
            try:
                said = json.loads(line)
                result = said["result"]
            except (ValueError, LookupError, TypeError) as error:
                raise _failed(f"its snapshot broke off: {line[:200]!r}", where=self._where) from error
            left = int(result.get("remaining_bytes", 0))
            data = base64.b64decode(result.get("blob", ""))
            write(data)
            tail += data
            digest.update(tail[:-_HASH])
            tail = tail[-_HASH:]
        if left != 0 or digest.digest() != tail:
            what = f"{left} bytes are missing" if left > 0 else "its hash is another"
            raise _failed(f"its snapshot is not whole: {what}", where=self._where)

    def _ask(self, what: str, body: Mapping[str, Any]) -> dict[str, Any]:
        text = b"".join(self._lines(what, body))
        try:
            return dict(json.loads(text))
        except ValueError as error:
            raise _failed(f"{what}: no JSON in its answer", where=self._where) from error

    def _lines(self, what: str, body: Mapping[str, Any] | None = None) -> Iterator[bytes]:
        try:
            self._http.request("POST", f"/v3/{what}", json.dumps(body or {}), {"Content-Type": "application/json"})
            answer = self._http.getresponse()
            if answer.status != http.HTTPStatus.OK:
                raise _failed(f"{what}: {answer.status} {answer.read(200).decode(errors='replace')}", where=self._where)
            yield from answer
            answer.read()  # its end, without which the connection takes no other request
        except (OSError, http.client.HTTPException) as error:
            raise _failed(f"{what}: {type(error).__name__}: {error}", where=self._where) from error


def take(connection: EtcdConnection, write: Write) -> dict[str, Any]:
    """Write a snapshot; return what a restore test compares: version, and revision and keys before and after."""
    before = connection.state()
    connection.snapshot(write)
    after = connection.state()
    return {
        "version": before["version"], "revision": [before["revision"], after["revision"]],
        "keys": [before["keys"], after["keys"]],
    }  # fmt: skip


def judge(about: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """Return what a restored etcd lacks. ``about``: of `take`; ``found``: its `EtcdConnection.state`."""
    (first, last), faults = about["revision"], list[str]()
    if not first <= found["revision"] <= last:
        faults.append(f"its revision is {found['revision']}, at the backup it was {first} to {last}")
    if fault := lacks(about["keys"], found["keys"]):
        faults.append(f"keys: {fault}")
    return faults


def lacks(recorded: list[int], found: int) -> str:
    """Return what is wrong with a number ``found``, recorded before and after a backup while others wrote.

    A `FEW`, or one in a hundred, may have come and gone meanwhile.
    """
    low = min(recorded)
    if found < low - max(FEW, low // 100) or found == 0 < low:
        return f"{found}, there were {low}"
    return ""


def _failed(what: str, *, where: str) -> GroundupError:
    return GroundupError(
        f"etcd cannot be backed up: {what}", where=where,
        why="without its snapshot a set restores no cluster; nothing of this set is kept",
        remedy="run the playbook groundup.cloud.kubernetes, tag verify: it says what is wrong with etcd",
    )  # fmt: skip
