"""etcd is asked in its own words, and only with the credentials of a control host."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.api import NodeApiError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.etcd import Etcd, listens
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.host import NodeHost
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Paths
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from .conftest import certificate, pem


class Gateway(http.server.BaseHTTPRequestHandler):
    """etcd's JSON gateway: numbers of 64 bits are strings, fields of the value zero are left out."""

    server: http.server.HTTPServer
    asked: list[tuple[str, dict[str, Any]]]
    more: dict[str, dict[str, Any]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, body))
        answers = {
            "/v3/cluster/member/list": {
                "members": [
                    {"ID": "10276657743932975437", "name": "a", "peerURLs": ["https://p"], "clientURLs": [self.me()]},
                    {"ID": "1", "peerURLs": ["https://q"], "isLearner": True},
                ]
            },
            "/v3/maintenance/status": {"leader": "10276657743932975437"} if len(self.asked) < 3 else {},
            "/v3/cluster/member/remove": {"members": []},
        }
        answers |= self.more
        text = json.dumps(answers[self.path]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def me(self) -> str:
        return f"https://127.0.0.1:{self.server.server_port}"

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def gateway(paths: Paths) -> Iterator[str]:
    """A gateway that takes only those who have the host's credentials; its URL."""
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    place = paths.pki / "etcd"
    place.mkdir(parents=True)
    one = pem(certificate(addresses=["127.0.0.1"], key=key))  # signed by itself: CA, server and client in one
    for name in ("ca", "healthcheck-client"):
        (place / f"{name}.crt").write_text(one)
        (place / f"{name}.key").write_bytes(private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place / "ca.crt", place / "ca.key")
    context.load_verify_locations(place / "ca.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    Gateway.asked, Gateway.more = [], {}
    server = http.server.HTTPServer(("127.0.0.1", 0), Gateway)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"https://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_etcd_is_asked_in_json_with_the_hosts_credentials(paths: Paths, gateway: str) -> None:
    etcd = Etcd(NodeHost(name="control-1", paths=paths), server=gateway)
    first, second = etcd.members()
    assert (first.id, first.name, first.learner) == ("10276657743932975437", "a", False)
    assert (second.name, second.clients, second.learner) == ("", (), True)
    assert etcd.healthy(first)
    assert not etcd.healthy(first), "a member without a leader is not healthy"
    assert not etcd.healthy(second)
    etcd.remove(second)
    assert Gateway.asked[-1] == ("/v3/cluster/member/remove", {"ID": "1"})


@pytest.mark.parametrize(("leader", "to"), [("1", "3"), ("3", None), ("0", None)])
def test_the_leadership_goes_to_a_healthy_member_with_a_vote_and_only_from_this_host(
    paths: Paths, gateway: str, leader: str, to: str | None
) -> None:
    members = [
        {"ID": "1", "name": "own", "peerURLs": ["https://o"], "clientURLs": [gateway]},
        {"ID": "2", "name": "down", "peerURLs": ["https://d"], "clientURLs": ["https://127.0.0.1:1"]},
        {"ID": "4", "name": "learner", "peerURLs": ["https://l"], "clientURLs": [gateway], "isLearner": True},
        {"ID": "3", "name": "other", "peerURLs": ["https://p"], "clientURLs": [gateway]},
    ]
    status = {"header": {"member_id": "1"}, "leader": leader, "version": "3.6.16"}
    Gateway.more = {
        "/v3/cluster/member/list": {"members": members},
        "/v3/maintenance/status": status,
        "/v3/maintenance/transfer-leadership": {},
    }
    etcd = Etcd(NodeHost(name="control-1", paths=paths), server=gateway)
    assert etcd.leads() == (leader == "1")
    found = etcd.hand_over()
    moved = [body for path, body in Gateway.asked if path.endswith("transfer-leadership")]
    assert (found and found.id, moved) == (to, [{"targetID": to}] if to else [])


def test_how_far_a_member_is_behind_is_told_by_the_leaders_log(paths: Paths, gateway: str) -> None:
    own = {"ID": "1", "name": "own", "peerURLs": ["https://o"], "clientURLs": [gateway]}
    status = {"header": {"member_id": "2"}, "leader": "1", "raftIndex": "9007199254740993", "raftAppliedIndex": "17"}
    Gateway.more = {"/v3/cluster/member/list": {"members": [own]}, "/v3/maintenance/status": status}
    etcd = Etcd(NodeHost(name="control-1", paths=paths), server=gateway)
    assert etcd.behind() == 9007199254740993 - 17
    Gateway.more["/v3/maintenance/status"] = {**status, "leader": "0"}
    with pytest.raises(NodeApiError, match="it has no leader"):
        etcd.behind()


def test_a_host_without_etcds_credentials_says_so(paths: Paths, tmp_path: Path) -> None:
    with pytest.raises(GroundupError, match="the credentials of etcd on control-1 cannot be used"):
        Etcd(NodeHost(name="control-1", paths=paths))
    assert not any(tmp_path.iterdir())


def test_only_what_takes_connections_listens(gateway: str) -> None:
    port = int(gateway.rsplit(":", 1)[-1])
    assert listens("127.0.0.1", port)
    assert not listens("127.0.0.2", port)
