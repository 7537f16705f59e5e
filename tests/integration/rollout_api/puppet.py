"""A kubelet that does as it is told: it gives pods the states a test asks for, and serves their logs to the API server.

Pods, jobs, volumes and events are real objects of a real API; only what a node would do is played.
"""

from __future__ import annotations

import datetime
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api, ApiError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Object = dict[str, Any]
Behaviour = Callable[[Object], Object | None]
NODE = "worker-1"
NOW = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def container(pod: Object) -> Object:
    """Return the first container of a pod."""
    return dict(pod["spec"]["containers"][0])


def runs(pod: Object) -> Object:
    """A pod that runs and is ready; one of a job has ended well."""
    entry = {"name": container(pod)["name"], "image": container(pod)["image"], "imageID": "", "restartCount": 0}
    if pod["metadata"]["labels"].get("component") == "sync":
        ended = {"terminated": {"exitCode": 0, "reason": "Completed"}}
        return {"phase": "Succeeded", "containerStatuses": [{**entry, "ready": False, "state": ended}]}
    conditions = [{"type": kind, "status": "True", "lastTransitionTime": NOW} for kind in ("Ready", "ContainersReady")]
    running = {"running": {"startedAt": NOW}}
    return {
        "phase": "Running", "conditions": conditions, "startTime": NOW,
        "containerStatuses": [{**entry, "ready": True, "started": True, "state": running}],
    }  # fmt: skip


def waits(reason: str, message: str, **fields: Any) -> Behaviour:
    """A pod whose container waits for ``reason``."""

    def behave(pod: Object) -> Object:
        waiting = {"waiting": {"reason": reason, "message": message}}
        entry = {
            "name": container(pod)["name"], "image": container(pod)["image"], "imageID": "", "ready": False,
            "restartCount": 0, "state": waiting, **fields,
        }  # fmt: skip
        return {"phase": "Pending", "containerStatuses": [entry]}

    return behave


def fails() -> Behaviour:
    """A pod that has ended badly: of a job for good, of a Deployment again and again."""

    def behave(pod: Object) -> Object:
        entry = {"name": container(pod)["name"], "image": container(pod)["image"], "imageID": "", "ready": False}
        ended = {"terminated": {"exitCode": 1, "reason": "Error"}}
        if pod["metadata"]["labels"].get("component") == "sync":
            return {"phase": "Failed", "containerStatuses": [{**entry, "restartCount": 0, "state": ended}]}
        return crashes(4)(pod)

    return behave


def crashes(restarts: int) -> Callable[[Object], Object]:
    """A pod whose container waits for its next run after ``restarts`` failed ones."""
    state = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off restarting failed container"}}
    last = {"terminated": {"exitCode": 1, "reason": "Error"}}

    def behave(pod: Object) -> Object:
        entry = {"name": container(pod)["name"], "image": container(pod)["image"], "imageID": "", "ready": False}
        entry |= {"restartCount": restarts, "state": state, "lastState": last}
        return {"phase": "Running", "containerStatuses": [entry]}

    return behave


def is_left_alone(pod: Object) -> None:
    """A pod nothing happens to."""


class Puppet:
    """Plays the node of one namespace. ``rules``: behaviour by component label; other pods run."""

    def __init__(self, api: Api, namespace: str, directory: Path, *, node: str = NODE) -> None:
        self.api, self.namespace, self.name = api, namespace, node
        # Logs are served at the first. No two nodes have one address: a machine that leaves is known by its own.
        self.address = "127.0.0.1" if node == NODE else f"127.0.1.{node.rpartition('-')[2]}"
        self.rules: dict[str, Behaviour] = {}
        self.logs: dict[str, str] = {}  # by container name
        self._seen: dict[str, str] = {}
        self._stop = threading.Event()
        self._server = _log_server(self.logs, directory)
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Puppet:
        """Make the node and start."""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.node(ready=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._stop.set()
        self._thread.join(timeout=10)
        self._server.shutdown()
        self._server.server_close()

    def node(self, *, ready: bool, full: bool = False) -> None:
        """Set the state of the only node."""
        path = resource_path("v1", "nodes", name=self.name)
        if self.api.find(path) is None:
            body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.name}}
            self.api.request("POST", resource_path("v1", "nodes"), body=body)
        conditions = [
            {"type": "Ready", "status": "True" if ready else "Unknown"},
            {"type": "DiskPressure", "status": "True" if full else "False"},
        ]
        status = {
            "conditions": conditions, "addresses": [{"type": "InternalIP", "address": self.address}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self._server.server_port}},
        }  # fmt: skip
        self.patch(f"{path}/status", {"status": status})

    def event(self, kind: str, name: str, reason: str, message: str) -> None:
        """Record an event about an object."""
        body = {
            "apiVersion": "v1", "kind": "Event", "reason": reason, "message": message, "type": "Warning", "count": 1,
            "metadata": {"generateName": "test-", "namespace": self.namespace},
            "involvedObject": {"kind": kind, "name": name, "namespace": self.namespace},
        }  # fmt: skip
        self.api.request("POST", resource_path("v1", "events", namespace=self.namespace), body=body)

    def patch(self, path: str, body: Object) -> None:
        """Send a merge patch."""
        self.api.request("PATCH", path, body=body, content_type="application/merge-patch+json")

    def _follow(self) -> None:
        base = resource_path("v1", "pods", namespace=self.namespace)
        while not self._stop.is_set():
            with suppress(ApiError):  # an API server that is busy is asked again
                for pod in self.api.get(base).get("items") or ():
                    # A pod may be deleted, or changed by its controller, between two requests.
                    with suppress(ApiError):
                        self._play(base, pod)
            self._stop.wait(0.2)

    def _play(self, base: str, pod: Object) -> None:
        meta = pod["metadata"]
        if meta.get("deletionTimestamp"):
            # What a kubelet does at the end of a pod's life.
            options = {"gracePeriodSeconds": 0}
            self.api.request("DELETE", f"{base}/{meta['name']}", body=options)
            return
        component = str((meta.get("labels") or {}).get("component", ""))
        status = self.rules.get(component, runs)(pod)
        if status is None or self._seen.get(meta["uid"]) == repr(status):
            return
        if not pod["spec"].get("nodeName"):
            binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"]}}
            target = {"apiVersion": "v1", "kind": "Node", "name": self.name}
            self.api.request("POST", f"{base}/{meta['name']}/binding", body={**binding, "target": target})
        self.patch(f"{base}/{meta['name']}/status", {"status": status})
        self._seen[meta["uid"]] = repr(status)


def _log_server(logs: dict[str, str], directory: Path) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name http.server asks for
            """Answer /containerLogs/NAMESPACE/POD/CONTAINER."""
            name = self.path.partition("?")[0].rpartition("/")[2]
            body = logs.get(name, "").encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_certificate(directory))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return server


def _certificate(directory: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NODE)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(hours=1))
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = directory / "kubelet.pem"
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + private)
    return path
