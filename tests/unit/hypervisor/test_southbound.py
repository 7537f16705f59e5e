"""Why ovn-controller does not reach the southbound database: refused, silent or TLS, endpoint by endpoint."""

from __future__ import annotations

import http.server
import socket
import ssl
import threading
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor.southbound import SouthboundAnswer, ask, judge
from ansible_collections.groundup.cloud.tests.unit import tls

ONE, TWO = "ssl:192.0.2.11:16642", "ssl:192.0.2.12:16642"
STATE = "not connected"


def keep(directory: Path, own: tls.Pair, authority: tls.Pair) -> Path:
    """Place a host's certificate as the role does."""
    for name, text in (("certificate", own.certificate), ("key", own.key), ("ca", authority.certificate)):
        (directory / f"{name}.pem").write_text(text)
    return directory


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({}, "no endpoint"),
        ({ONE: SouthboundAnswer(kind="refused", fault="Connection refused")}, "ovn-ovsdb-server-sb"),
        ({ONE: SouthboundAnswer(kind="silent", fault="timed out")}, "ip route get"),
        ({ONE: SouthboundAnswer(kind="refused"), TWO: SouthboundAnswer(kind="silent")}, "ip route get"),
        ({ONE: SouthboundAnswer(kind="refused"), TWO: SouthboundAnswer(kind="tls", fault="EXPIRED")}, "openssl verify"),
        ({ONE: SouthboundAnswer(kind="tls", fault="certificate is not yet valid")}, "clocks differ: timedatectl"),
        ({ONE: SouthboundAnswer(kind="refused"), TWO: SouthboundAnswer(kind="taken")}, "journalctl"),
    ],
)  # fmt: skip
def test_each_endpoint_is_named_with_what_to_do_next(answers: dict[str, SouthboundAnswer], said: str) -> None:
    line = judge(STATE, answers)
    assert line.startswith(STATE)
    assert said in line
    assert all(endpoint in line for endpoint in answers)


def test_a_closed_port_refuses(tmp_path: Path) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        assert ask(f"ssl:127.0.0.1:{bound.getsockname()[1]}", tmp_path).kind == "refused"


def test_another_authority_is_an_error_of_tls_and_our_own_is_taken(tmp_path: Path) -> None:
    ours, strangers = tls.pair(), tls.pair()
    for name, theirs, kind in (("own", ours, "taken"), ("another", strangers, "tls")):
        directory = tmp_path / name
        directory.mkdir()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
        theirs.shown_by(server, directory)
        with tls.serving(server):
            answer = ask(f"ssl:127.0.0.1:{server.server_port}", keep(directory, ours, ours))
        assert answer.kind == kind, answer.fault
        assert ("self-signed" in answer.fault or "local issuer" in answer.fault) == (kind == "tls")


def test_a_database_whose_certificate_begins_later_is_a_matter_of_clocks(tmp_path: Path) -> None:
    ahead = tls.pair(begins=0.1)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    ahead.shown_by(server, tmp_path)
    with tls.serving(server):
        answer = ask(one := f"ssl:127.0.0.1:{server.server_port}", keep(tmp_path, tls.pair(), ahead))
    assert "clocks differ: timedatectl, here and on the control hosts" in judge(STATE, {one: answer})


def test_a_database_that_does_not_take_our_certificate_is_an_error_of_tls(tmp_path: Path) -> None:
    ours, authority = tls.pair(), tls.pair()
    (tmp_path / "server.pem").write_text(authority.certificate + authority.key)
    (tmp_path / "believed.pem").write_text(authority.certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    context.load_verify_locations(tmp_path / "believed.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            taken, _ = listening.accept()
            with taken, pytest.raises(ssl.SSLError):
                context.wrap_socket(taken, server_side=True)

        thread = threading.Thread(target=serve)
        thread.start()
        answer = ask(f"ssl:127.0.0.1:{listening.getsockname()[1]}", keep(tmp_path, ours, authority))
        thread.join()
    assert answer.kind == "tls", answer


def test_a_certificate_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        answer = ask(f"ssl:127.0.0.1:{listening.getsockname()[1]}", tmp_path)
    assert answer.kind == "tls"
