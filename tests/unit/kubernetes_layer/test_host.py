"""What a host asks of the cluster before it has a kubeconfig."""

from __future__ import annotations

import http.server
import socket
import ssl
import threading

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import host as host_module
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.host import NodeHost
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Paths
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from .conftest import CA, certificate, pem, write


class Stranger(http.server.BaseHTTPRequestHandler):
    """An API server that tells strangers nothing."""

    def do_GET(self) -> None:
        self.send_response(403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_an_api_of_the_own_authority_speaks_whatever_its_name_and_answer(paths: Paths) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    own = pem(certificate(names=["another"], key=key))  # signed by itself: CA and server in one
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    write(paths, "/server.pem", private.decode() + own)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(paths.at("/server.pem"))
    host = NodeHost(name="control-1", paths=paths)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"https://127.0.0.1:{server.server_port}"
        write(paths, "/etc/kubernetes/pki/ca.crt", own)
        assert host.speaks(url)
        write(paths, "/etc/kubernetes/pki/ca.crt", CA)
        assert not host.speaks(url), "another cluster"
        server.shutdown()
    write(paths, "/etc/kubernetes/pki/ca.crt", own)
    assert not host.speaks(url)


def test_an_api_that_takes_the_connection_and_hangs_may_live(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_module, "SPEAKS_TIMEOUT", 0.3)
    write(paths, "/etc/kubernetes/pki/ca.crt", CA)
    host = NodeHost(name="control-1", paths=paths)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the kernel accepts, and nobody reads
        url = f"https://127.0.0.1:{silent.getsockname()[1]}"
        assert host.speaks(url)
        paths.at("/etc/kubernetes/pki/ca.crt").unlink()
        assert host.speaks(url), "any cluster's counts"
    assert not host.speaks(url), "nobody is there"
