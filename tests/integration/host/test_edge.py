"""HAProxy of a site's host as its role configures it: floods, sources, logins."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._edge.serve import ALIVE_SCRIPT
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.integration.edge import SCALE, VIP, configured
from ansible_collections.groundup.cloud.tests.integration.host_root import host_root

KUBE_PROXY = "import socket, time; server = socket.create_server(('127.0.0.1', 10256)); time.sleep(600)"
REFUSES, SILENT = "127.0.0.9", "10.255.0.1"


def test_nobody_takes_anothers_connections_and_nothing_is_tried_without_end(tmp_path: Path) -> None:
    text = configured(tmp_path)
    with host_root(tmp_path / "host", f"{VIP}/32", "10.9.1.1/32") as host:
        for directory in ("run/haproxy", "etc/haproxy/tls"):
            host.at(directory).mkdir(parents=True, exist_ok=True)
        host.at("etc/haproxy/tls/edge.pem").write_text((tmp_path / "edge.pem").read_text())
        host.at("etc/haproxy/haproxy.cfg").write_text(text)
        checked = host.run("haproxy", "-c", "-f", "/etc/haproxy/haproxy.cfg")
        assert checked.returncode == 0, checked.stdout
        host.start("haproxy", "-f", "/etc/haproxy/haproxy.cfg")
        trial = [str(Path(__file__).parent / "edge_trial.py"), str(tmp_path / "edge.pem")]
        said = host.run(sys.executable, *trial, str(host.at("run/haproxy/admin.sock")), outside=True)
        assert said.returncode == 0, said.stdout
    found = json.loads(said.stdout.splitlines()[-1])
    assert found["full"] <= 7400 // SCALE
    assert found["kubernetes"] == [200] * 5, "while the public port is full"
    assert found["alive"] == "200", "or keepalived would move the address"
    assert found["one source"] <= 1000 // SCALE
    assert found["others"] == 200
    assert found["metadata"] == [200, 403], "of a host, of a user"
    assert found["hsts"] == "max-age=31536000"
    assert found["wrong"][:5] == [401] * 5
    assert found["wrong"][-1] == found["then right"] == 429
    assert found["reads"] == found["elsewhere"] == 200, "what is no login goes on, and so do others"


def test_a_host_that_nobody_answers_gives_the_address_up(tmp_path: Path) -> None:
    with host_root(tmp_path / "host", f"{VIP}/32") as host:
        for directory in ("run/haproxy", "etc/haproxy/tls"):
            host.at(directory).mkdir(parents=True, exist_ok=True)
        text = configured(tmp_path)
        host.at("etc/haproxy/tls/edge.pem").write_text((tmp_path / "edge.pem").read_text())
        host.at("etc/haproxy/haproxy.cfg").write_text(text)
        host.at("alive").write_text(ALIVE_SCRIPT)

        def keeps(*others: str) -> bool:
            return host.run("bash", "/alive", *others).returncode == 0

        assert not keeps(REFUSES), "without HAProxy"
        host.start("haproxy", "-f", "/etc/haproxy/haproxy.cfg")
        until(keeps, seconds=30)
        assert keeps(SILENT), "no cluster yet: the first host of a site begins alone"
        host.start("python3", "-c", KUBE_PROXY)
        until(lambda: not keeps(SILENT), seconds=30)  # HAProxy asks the API server, of which there is none, twice first
        assert not keeps(SILENT, SILENT)
        assert keeps(SILENT, REFUSES), "a refusal shows a network"
        assert keeps(), "no other could have it"
