"""The virtual IP leaves a host while somebody waits there for an answer: HAProxy still gives it."""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.integration.edge import VIP, configured
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root

SLOW = """
import http.server, pathlib, sys, time
class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == '/v3/slow':
            pathlib.Path('/tmp/asked').touch()
            while not pathlib.Path('/tmp/moved').exists():
                time.sleep(0.05)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'slow but sure')
http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Slow).serve_forever()
"""


def linked(host: HostRoot, user: HostRoot) -> None:
    """Connect both by a cable; the virtual IP is at the host."""

    def ip(of: HostRoot, *argv: str) -> None:
        subprocess.run(of.argv("ip", *argv, outside=True), check=True)

    ip(host, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", str(user.pid))
    for one, *addresses in ((host, f"{VIP}/32", "10.9.3.1/24"), (user, "10.9.3.9/24")):
        for address in addresses:
            ip(one, "address", "add", address, "dev", "cable")
        ip(one, "link", "set", "cable", "up")
    ip(user, "route", "add", VIP, "dev", "cable")


def test_a_request_that_was_open_when_the_address_moved_is_answered(tmp_path: Path) -> None:
    text = configured(tmp_path)
    port = re.search(r"backend identity\n(?:.*\n)*?    server control-1 127\.0\.0\.1:(\d+)", text)
    assert port
    with host_root(tmp_path / "host") as host, host_root(tmp_path / "user") as user, ThreadPoolExecutor() as pool:
        linked(host, user)
        for directory in ("run/haproxy", "etc/haproxy/tls"):
            host.at(directory).mkdir(parents=True, exist_ok=True)
        host.at("etc/haproxy/tls/edge.pem").write_text((tmp_path / "edge.pem").read_text())
        host.at("etc/haproxy/haproxy.cfg").write_text(text)
        host.start("python3", "-c", SLOW, port[1])
        host.start("haproxy", "-f", "/etc/haproxy/haproxy.cfg")
        ask = ["curl", "--silent", "--insecure", "--noproxy", "*", "--max-time", "20"]
        ask += ["--resolve", f"identity.cloud.test:443:{VIP}"]
        until(lambda: user.run(*ask, "https://identity.cloud.test/v3").stdout == "slow but sure", seconds=30)
        waits = pool.submit(user.run, *ask, "https://identity.cloud.test/v3/slow")
        until(host.at("tmp/asked").exists, seconds=20)
        assert host.run("ip", "address", "del", f"{VIP}/32", "dev", "cable").returncode == 0  # as keepalived does
        host.at("tmp/moved").touch()
        assert waits.result().stdout == "slow but sure"
