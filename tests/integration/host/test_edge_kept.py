"""A kept connection while HAProxy is reloaded, and while the server behind it ends: who asks notices neither."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.integration.edge import VIP, configured
from ansible_collections.groundup.cloud.tests.integration.host_root import host_root

# Answers the first request of a connection; the second one it takes, and closes: so does a pod that ends.
# What is lost is taken and not answered the first time.
ENDS = """
import http.server, sys
class Ends(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    first = True
    lost = set()
    def do_GET(self):
        self.rfile.read(int(self.headers.get('Content-Length') or 0))
        with open('/asked', 'a') as asked:
            print(self.command, self.path, file=asked)
        if self.path == '/v3/lost' and self.command not in self.lost:
            self.lost.add(self.command)
            self.close_connection = True
            return
        if self.path.startswith('/v3'):
            if not self.first:
                self.close_connection = True
                return
            self.first = False
        self.send_response(200)
        self.send_header('Content-Length', '2')
        self.end_headers()
        self.wfile.write(b'ok')
    do_POST = do_GET
http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Ends).serve_forever()
"""
ASKS = """
import http.client, json, os, signal, ssl, subprocess, sys, time
context = ssl._create_unverified_context()
def line():
    return http.client.HTTPSConnection(sys.argv[1], 443, context=context, timeout=20)
def ask(client, method, path):
    try:
        client.request(method, path, headers={'Host': 'identity.cloud.test'})
        answer = client.getresponse()
        answer.read()
        return answer.status, answer.headers.get('Connection', '')
    except (OSError, http.client.HTTPException) as error:
        client.close()
        return type(error).__name__, ''
def workers():
    said = subprocess.run(['pgrep', '-x', 'haproxy'], capture_output=True, text=True).stdout.split()
    return set(said) - {str(master)}
reads, writes, kept = line(), line(), line()
found = {'reads': [ask(reads, 'GET', '/v3/reads')[0] for _ in range(4)]}
found['writes'] = [ask(writes, 'POST', '/v3/writes')[0] for _ in range(2)]
found['lost'] = [ask(line(), method, '/v3/lost')[0] for method in ('GET', 'POST')]
found['before'] = ask(kept, 'GET', '/')
master = int(open('/run/haproxy.pid').read().split()[0])
former = workers()
os.kill(master, signal.SIGUSR2)
end = time.monotonic() + 30
while not workers() - former and time.monotonic() < end:
    time.sleep(0.05)
found['after'] = [ask(kept, 'GET', '/')]  # the former worker may hear of it later
while found['after'][-1] == found['before'] and time.monotonic() < end:
    time.sleep(0.1)
    found['after'].append(ask(kept, 'GET', '/'))
print(json.dumps(found))
"""


def test_a_kept_connection_has_its_answer_whoever_ends_behind_it(tmp_path: Path) -> None:
    text = configured(tmp_path)
    port = re.search(r"backend identity\n(?:.*\n)*?    server control-1 127\.0\.0\.1:(\d+)", text)
    assert port
    with host_root(tmp_path / "host", f"{VIP}/32") as host:
        for directory in ("run/haproxy", "etc/haproxy/tls"):
            host.at(directory).mkdir(parents=True, exist_ok=True)
        host.at("etc/haproxy/tls/edge.pem").write_text((tmp_path / "edge.pem").read_text())
        host.at("etc/haproxy/haproxy.cfg").write_text(text)
        host.start("python3", "-c", ENDS, port[1])
        host.start("haproxy", "-Ws", "-p", "/run/haproxy.pid", "-f", "/etc/haproxy/haproxy.cfg")
        until(lambda: host.at("run/haproxy/admin.sock").exists(), seconds=30)
        said = host.run("python3", "-c", ASKS, VIP)
        assert said.returncode == 0, said.stdout
        found, asked = json.loads(said.stdout.splitlines()[-1]), host.at("asked").read_text()
    assert found["reads"] == [200] * 4
    assert found["writes"] == [200] * 2, "on a connection of its own, which no end of a pod crosses"
    assert found["lost"] == [200, 502], "a read is asked again"
    assert asked.count("POST /v3/lost") == 1, "a write may have been done: it is never sent twice"
    assert found["before"] == [200, ""]
    assert found["after"][-1] == [200, "close"], "an idle connection is told with its next answer, and not cut"
