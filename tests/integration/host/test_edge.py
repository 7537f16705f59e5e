"""HAProxy of a site's host as its role configures it: floods, sources, logins."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._base import tls
from ansible_collections.groundup.cloud.plugins.module_utils._edge.serve import ALIVE_SCRIPT
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.integration.edge import SCALE, VIP, configured
from ansible_collections.groundup.cloud.tests.integration.host_root import host_root
from ansible_collections.groundup.cloud.tests.unit.certificates import issue

ROOT = Path(__file__).resolve().parents[3]
TRUSTS = """
import json, sys
from programs._base.changes import Changes
from programs._host import trust
changes, (own, others) = Changes(check=False), json.loads(sys.argv[1])
trust.authorities(changes, own, others, site="lab")
print(json.dumps(changes.done))
"""
KUBE_PROXY = "import socket, time; server = socket.create_server(('127.0.0.1', 10256)); time.sleep(600)"
# Answers what it is asked, and no check in time.
BUSY = """
import http.server, sys
class Busy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == '/v3' else 500)
        self.end_headers()
        self.wfile.write(b'late')
http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Busy).serve_forever()
"""
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


def test_a_service_too_busy_for_its_checks_is_asked_all_the_same(tmp_path: Path) -> None:
    text = configured(tmp_path).replace("inter 5s fastinter 1s", "inter 200ms fastinter 200ms")
    port = re.search(r"backend identity\n(?:.*\n)*?    server control-1 127\.0\.0\.1:(\d+)", text)
    assert port
    with host_root(tmp_path / "host", f"{VIP}/32") as host:
        for directory in ("run/haproxy", "etc/haproxy/tls"):
            host.at(directory).mkdir(parents=True, exist_ok=True)
        host.at("etc/haproxy/tls/edge.pem").write_text((tmp_path / "edge.pem").read_text())
        host.at("etc/haproxy/haproxy.cfg").write_text(text)
        host.start("python3", "-c", BUSY, port[1])
        host.start("haproxy", "-f", "/etc/haproxy/haproxy.cfg")

        def down() -> bool:
            asked = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('/run/haproxy/admin.sock'); "
            asked += "s.sendall(b'show stat\\n'); print(s.makefile().read())"
            return any(line.startswith("identity,control-1,") and ",DOWN," in line
                       for line in host.run("python3", "-c", asked).stdout.splitlines())  # fmt: skip

        until(down, seconds=30)
        ask = ("curl", "--silent", "--insecure", "--noproxy", "*", "--resolve", f"identity.cloud.test:443:{VIP}")
        assert host.run(*ask, "https://identity.cloud.test/v3").stdout == "late"


def test_a_new_certificate_is_served_without_a_cut_connection_and_another_is_noticed(tmp_path: Path) -> None:
    text, root = configured(tmp_path), issue("company", ca=True)
    middle = issue("intermediate", root, ca=True)
    for name in ("one", "two"):
        leaf = issue(name, middle, names=["*.cloud.test"])
        (tmp_path / f"{name}.pem").write_text(tls.with_key(leaf.pem + middle.pem, leaf.key))
    (tmp_path / "root.pem").write_text(root.pem)
    with host_root(tmp_path / "host", f"{VIP}/32") as host:
        for directory in ("run/haproxy", "etc/haproxy/tls"):
            host.at(directory).mkdir(parents=True, exist_ok=True)
        host.at("etc/haproxy/tls/edge.pem").write_text((tmp_path / "one.pem").read_text())
        host.at("etc/haproxy/haproxy.cfg").write_text(text)
        host.start("haproxy", "-Ws", "-p", "/run/haproxy.pid", "-f", "/etc/haproxy/haproxy.cfg")
        until(lambda: host.at("run/haproxy/admin.sock").exists(), seconds=30)
        trial = [str(Path(__file__).parent / "certificate_trial.py"), str(host.at("/")), str(tmp_path)]
        reload = host.argv("sh", "-c", "kill -USR2 $(cat /run/haproxy.pid)")  # as systemctl reload
        said = host.run(sys.executable, *trial, *reload, outside=True)
    assert said.returncode == 0, said.stdout
    found = json.loads(said.stdout.splitlines()[-1])
    assert found["first"] == "sound"
    assert found["another"].startswith("HAProxy serves another certificate than the site's")
    assert "10.9.0.2:443" in found["another"]
    assert found["not loaded"] == found["another"], "a file that HAProxy has not read"
    assert found["own"] == "sound"
    assert found["own, not loaded"].startswith("HAProxy serves another certificate")
    assert "edge.pem on this host" in found["own, not loaded"]
    assert found["servers"] == {"HAProxy at the virtual IP": True}, "it listens nowhere else"
    assert found["before"] == 421
    assert found["after"] == [421, "sound"], "the request of before, the certificate of now"
    assert found["asked"] > 5
    assert (found["answers"], found["failed"]) == ([421], [])


def test_a_host_trusts_a_company_s_ca_until_the_site_names_it_no_more(tmp_path: Path) -> None:
    own, company = issue("site", ca=True), issue("company", ca=True)
    (tmp_path / "leaf.pem").write_text(issue("leaf", company, names=["a.test"]).pem)
    with host_root(tmp_path / "host") as host:
        shutil.copytree(ROOT / "plugins/module_utils", host.at("tmp/programs"))
        host.at("tmp/leaf.pem").write_text((tmp_path / "leaf.pem").read_text())

        def trusts(*others: str) -> tuple[list[str], bool, list[str]]:
            given = json.dumps([own.pem, others])
            said = host.run("env", "PYTHONPATH=/tmp", "python3", "-c", TRUSTS, given)
            assert said.returncode == 0, said.stdout
            checked = host.run("openssl", "verify", "/tmp/leaf.pem")  # noqa: S108  # the host's own
            links = [path.name for path in host.at("etc/ssl/certs").iterdir() if path.is_symlink()]
            dangling = [name for name in links if host.run("test", "-e", f"/etc/ssl/certs/{name}").returncode]
            return json.loads(said.stdout.splitlines()[-1]), checked.returncode == 0, dangling

        changed, trusted, dangling = trusts(company.pem)
        assert changed[-1] == "rebuild the trust store"
        assert (trusted, dangling) == (True, [])
        assert trusts(company.pem) == ([], True, [])
        changed, trusted, dangling = trusts()
        assert changed[0].startswith("remove /usr/local/share/ca-certificates/groundup-lab-")
        assert (trusted, dangling) == (False, [])
        assert trusts() == ([], False, [])
