"""Whether this node's kubelet and container runtime answer, and what the API says of its Node: no process is started.

Under the names of kube-state-metrics, but without `node`: the host is the object. The API is asked as the kubelet asks
it, with its certificate: what cuts the kubelet off is seen here, too.
"""

from __future__ import annotations

import binascii
import json
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import answers
from .samples import PATIENCE, Sample

ACCESS = Path("/etc/kubernetes/kubelet.conf")  # of nodes alone: it goes when one leaves the cluster
SETTINGS = Path("/etc/kubernetes/kubelet.conf.d/10-site.conf")
IDENTITY = Path("/var/lib/kubelet/pki/kubelet-client-current.pem")
RUNTIME = Path("/run/containerd/containerd.sock")
HEALTH_PORT = 10248
# How HTTP/2 begins, by which gRPC is spoken: the server's settings are the answer.
_HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
_FIELD = r'\b{}"?: *"?([^\s"]+)'  # of kubelet.conf, in either way to write it
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----(.+?)-----END", re.DOTALL)
_NAME = re.compile(rb"\x55\x04\x03[\x0c\x13](.)system:node:", re.DOTALL)  # commonName, as DER has it, with its length


def health() -> Iterator[Sample]:
    """Yield the state of this node; of a host that is none, nothing."""
    if not ACCESS.exists():
        return
    if port := health_port(SETTINGS.read_text(encoding="utf-8") if SETTINGS.exists() else "{}"):
        yield Sample("kubelet_up", _kubelet(port))
    yield Sample("container_runtime_up", answers.begun(RUNTIME, _HTTP2))
    try:
        known = read()
    except (OSError, ValueError):
        yield Sample("groundup_node_known", 0)
        return
    yield Sample("groundup_node_known", 1)
    yield Sample("kube_node_spec_unschedulable", known.get("spec", {}).get("unschedulable", False))
    for one in known.get("status", {}).get("conditions", ()):
        labels = {"condition": one["type"], "status": "true"}
        yield Sample("kube_node_status_condition", one["status"] == "True", labels)


def health_port(settings: str) -> int | None:
    """Return the port of the kubelet's /healthz on the loopback address; None: the site's ``settings`` offer none."""
    found = json.loads(settings)
    port, address = found.get("healthzPort", HEALTH_PORT), found.get("healthzBindAddress", answers.LOOPBACK)
    here = address in {answers.LOOPBACK, "0.0.0.0"}  # noqa: S104  # compared only, nothing listens here
    return port if isinstance(port, int) and port > 0 and here else None


def _kubelet(port: int) -> bool:
    end = time.monotonic() + PATIENCE
    try:
        with socket.create_connection((answers.LOOPBACK, port), timeout=PATIENCE) as connection:
            answers.page(connection, "/healthz", host=answers.LOOPBACK, end=end)
    except OSError:
        return False
    return True


def read() -> dict[str, Any]:
    """Return this host's Node. Raises OSError, ValueError."""
    import ssl  # of nodes alone

    access = ACCESS.read_text(encoding="utf-8")
    authority = binascii.a2b_base64(_field("certificate-authority-data", access)).decode("ascii")
    context = ssl.create_default_context(cadata=authority)
    context.load_cert_chain(IDENTITY)
    path = f"/api/v1/nodes/{node_name(IDENTITY.read_text(encoding='ascii'))}"
    host, _, port = _field("server", access).removeprefix("https://").rstrip("/").rpartition(":")
    host, end = host.strip("[]"), time.monotonic() + PATIENCE
    with (
        socket.create_connection((host, int(port)), timeout=PATIENCE) as plain,
        context.wrap_socket(plain, server_hostname=host) as connection,
    ):
        found: dict[str, Any] = json.loads(answers.page(connection, path, host=host, end=end))
        return found


def node_name(identity: str) -> str:
    """Return whose kubelet has the certificate ``identity`` (PEM). Raises ValueError when it is no kubelet's."""
    certificate = _CERTIFICATE.search(identity)
    der = binascii.a2b_base64(certificate[1]) if certificate else b""
    if not (found := _NAME.search(der)):
        raise ValueError(f"{IDENTITY} is no certificate of a kubelet")
    return der[found.end() : found.end(1) + found[1][0]].decode("ascii")


def _field(name: str, text: str) -> str:
    if not (found := re.search(_FIELD.format(name), text)):
        raise ValueError(f"{ACCESS} has no {name}")
    return found[1]
