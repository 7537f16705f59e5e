"""HAProxy of a site's host as its role configures it: floods, sources, logins."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ansible_collections.groundup.cloud.tests.integration.edge import SCALE, VIP, configured
from ansible_collections.groundup.cloud.tests.integration.host_root import host_root


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
