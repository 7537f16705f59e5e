"""What a node's host tells of its kubelet, its container runtime and its Node, and what is no answer."""

from __future__ import annotations

import base64
import http.server
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import files, spec, state
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.kubeconfig import cluster_of
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics import node
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics.samples import text
from ansible_collections.groundup.cloud.tests.unit.certificates import Issued, issue

NODE = {
    "spec": {"unschedulable": True},
    "status": {"conditions": [{"type": "Ready", "status": "Unknown"}, {"type": "DiskPressure", "status": "True"}]},
}
SILENT = "container_runtime_up 0\ngroundup_node_known 0\nkubelet_up 0\n"


class Server:
    """Something on loopback that answers a path, and refuses others."""

    def __init__(self, *, context: ssl.SSLContext | None = None, **answers: str) -> None:
        """Serve ``answers`` by path, by TLS with ``context``."""

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                said = answers.get(self.path)
                self.send_response(404 if said is None else 200)
                self.end_headers()
                self.wfile.write((said or "{}").encode())

            def log_message(self, *_: object) -> None: ...

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Return a function that starts servers, which end with the test."""
    started: list[Server] = []

    def start(**how: Any) -> Server:
        started.append(Server(**how))
        return started[-1]

    yield start
    for one in started:
        one.server.shutdown()
        one.server.server_close()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have the files of a node below ``place``; none is there."""
    for name in ("ACCESS", "SETTINGS", "IDENTITY", "RUNTIME"):
        monkeypatch.setattr(node, name, tmp_path / name)
    return tmp_path


def _settings(**more: object) -> None:
    node.SETTINGS.write_text(json.dumps({"clusterDomain": "made.local", **more}))


def _cluster(tmp_path: Path, serve: Callable[..., Server], *, name: str, signed: bool = True) -> Issued:
    """Have an API server that knows the Node of ``worker-1``, and the files of the kubelet ``name``."""
    authority, foreign = issue("kubernetes", ca=True), issue("foreign", ca=True)
    own = issue("kube-apiserver", authority, names=["127.0.0.1"])
    (tmp_path / "api.pem").write_text(own.pem + own.key)
    (tmp_path / "ca.pem").write_text(authority.pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "api.pem")
    context.load_verify_locations(tmp_path / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    server = serve(context=context, **{"/api/v1/nodes/worker-1": json.dumps(NODE)})
    kubelet = issue(f"system:node:{name}", authority if signed else foreign, client=True)
    node.IDENTITY.write_text(kubelet.pem + kubelet.key)
    data = base64.b64encode(authority.pem.encode()).decode()
    cluster = {"certificate-authority-data": data, "server": f"https://127.0.0.1:{server.port}"}
    node.ACCESS.write_text("clusters:\n- cluster:\n" + "".join(f"    {key}: {one}\n" for key, one in cluster.items()))
    assert cluster_of(node.ACCESS.read_text()) == cluster, "as YAML reads it"
    return kubelet


@pytest.mark.usefixtures("place")
def test_a_host_that_is_no_node_tells_nothing() -> None:
    assert list(node.health()) == []


@pytest.mark.usefixtures("place")
def test_a_node_of_which_all_is_silent_tells_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    _settings(healthzPort=port)
    node.ACCESS.touch()
    assert text(node.health()) == SILENT


def test_a_node_tells_its_conditions_as_the_api_has_them(place: Path, serve: Callable[..., Server]) -> None:
    _settings(healthzPort=serve(**{"/healthz": "ok"}).port)
    _cluster(place, serve, name="worker-1")
    with socket.socket(socket.AF_UNIX) as runtime:
        runtime.bind(str(node.RUNTIME))
        runtime.listen()

        def answer() -> None:
            with runtime.accept()[0] as connection:
                connection.sendall(bytes(9) if connection.recv(99).startswith(b"PRI * HTTP/2.0") else b"")

        threading.Thread(target=answer).start()
        assert text(node.health()) == (
            "container_runtime_up 1\ngroundup_node_known 1\nkube_node_spec_unschedulable 1\n"
            'kube_node_status_condition{condition="DiskPressure",status="true"} 1\n'
            'kube_node_status_condition{condition="Ready",status="true"} 0\nkubelet_up 1\n'
        )


@pytest.mark.parametrize(("name", "signed"), [("worker-2", True), ("worker-1", False)])
def test_a_node_that_the_api_does_not_know_or_refuses_is_not_known(
    place: Path, serve: Callable[..., Server], name: str, signed: bool
) -> None:
    _settings(healthzPort=serve().port)  # which answers, and not that it is well
    _cluster(place, serve, name=name, signed=signed)
    assert text(node.health()) == SILENT


def test_who_hangs_is_silent(place: Path, serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "PATIENCE", 0.2)
    _cluster(place, serve, name="worker-1")
    with socket.socket(socket.AF_UNIX) as runtime, socket.create_server(("127.0.0.1", 0)) as kubelet:
        runtime.bind(str(node.RUNTIME))
        runtime.listen()
        port = kubelet.getsockname()[1]
        _settings(healthzPort=port)
        node.ACCESS.write_text(
            node.ACCESS.read_text().replace("server: ", f"server: https://127.0.0.1:{port}\n    x: ")
        )
        assert text(node.health()) == SILENT


def test_what_is_no_certificate_of_a_kubelet_is_not_shown_to_the_api() -> None:
    assert node.node_name(issue("system:node:worker-1.example.com").pem) == "worker-1.example.com"
    for other in (issue("kubernetes-admin").pem, "", "-----BEGIN CERTIFICATE-----"):
        with pytest.raises(ValueError, match="no certificate of a kubelet"):
            node.node_name(other)


@pytest.mark.parametrize(
    ("settings", "port"),
    [
        ({}, 10248), ({"healthzPort": 9}, 9), ({"healthzPort": 0}, None), ({"healthzPort": "no"}, None),
        ({"healthzBindAddress": "127.0.0.1"}, 10248), ({"healthzBindAddress": "10.0.0.17"}, None),
    ],
)  # fmt: skip
def test_the_kubelets_health_is_asked_where_the_sites_settings_have_it(
    settings: dict[str, object], port: int | None
) -> None:
    cluster: Any = type("Cluster", (), {"kubelet": settings})
    assert files._health_port(type("Node", (), {"cluster": cluster})) == port  # type: ignore[arg-type]
    assert node.health_port(json.dumps(settings)) == port


def test_files_and_socket_are_those_that_the_layer_writes() -> None:
    assert str(node.SETTINGS) == files.KUBELET_SETTINGS
    assert str(node.IDENTITY) == state.ROTATING
    assert f"unix://{node.RUNTIME}" == spec.CRI_SOCKET
    assert node.HEALTH_PORT == files.HEALTH_PORT
