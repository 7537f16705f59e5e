"""What Keystone, Nova and every API read from a cache that another pod has filled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .conftest import Image
from .stage import Stage

SERVICES = ("barbican", "cinder", "designate", "glance", "heat", "magnum", "manila", "neutron", "nova",
            "octavia", "placement")  # fmt: skip
# Every name leads to an intruder's Memcached, which has a pickle under every key; it writes who loaded it.
_ASK = """
import os, pickle, socket, socketserver, sys, threading
from pathlib import Path

class Evil:
    def __reduce__(self):
        return (os.system, ("echo $LOADS >> /tmp/loaded",))

class Intruder(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            command, *words = line.decode().split()
            if command in ("get", "gets"):
                for key in words:
                    data = pickle.dumps(Evil(), 0)
                    extra = " 1" if command == "gets" else ""
                    self.wfile.write(f"VALUE {key} 1 {len(data)}{extra}\\r\\n".encode() + data + b"\\r\\n")
                self.wfile.write(b"END\\r\\n")
            elif command == "set":
                self.rfile.read(int(words[3]) + 2)
                self.wfile.write(b"STORED\\r\\n")
            else:
                self.wfile.write(b"VERSION 1.6\\r\\n")

socketserver.ThreadingTCPServer.allow_reuse_address = True
server = socketserver.ThreadingTCPServer(("127.0.0.1", 11211), Intruder)
there = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 11211))
socket.getaddrinfo = lambda *_, **__: [there]
connect = socket.socket.connect
socket.socket.connect = lambda self, address: connect(self, ("127.0.0.1", 11211))

def asks(name, ask):  # in a process of its own: they share global options
    if child := os.fork():
        os.waitpid(child, 0)
        return
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["LOADS"] = name
    try:
        ask()
    except Exception as error:
        print(name, "raised", type(error).__name__, error)
    else:
        print(name, "asked")
    sys.stdout.flush()
    os._exit(0)

from keystonemiddleware import auth_token
from oslo_config import cfg

def tokens(file):
    conf = cfg.ConfigOpts()
    conf([], project=file.stem, default_config_files=[str(file)])
    cache = auth_token.AuthProtocol(None, {"oslo_config_config": conf})._token_cache
    cache.initialize({})
    cache.set("token", {"token": "one"})
    assert cache.get("token") == {"token": "one"}, "it forgets at once"

for file in sorted(Path("/mnt").glob("*.conf")):
    if "[keystone_authtoken]" in file.read_text():
        asks(f"tokens-of-{file.stem}", lambda file=file: tokens(file))

def keystone():
    import keystone.conf
    from keystone.common import cache
    keystone.conf.configure()
    keystone.conf.CONF([], project="keystone", default_config_files=["/mnt/keystone.conf"])
    cache.configure_cache()
    cache.configure_invalidation_region()
    cache.CACHE_REGION.get("anything")

def nova():
    import nova.conf
    from nova import cache_utils
    nova.conf.CONF([], project="nova", default_config_files=["/mnt/nova.conf"])
    client = cache_utils.get_client()
    client.set("anything", 1)
    client.get("anything")

asks("keystone", keystone)
asks("nova", nova)
print("loaded:", *(Path("/tmp/loaded").read_text().split() if Path("/tmp/loaded").exists() else ["nothing"]))
"""

# Two Keystones with one database and one repository of keys, as pods have them.
_TWO = r"""
cd /tmp
mkdir -m 700 keys
sed "s#^connection = .*#connection = sqlite:////tmp/db#; s#^key_repository = .*fernet.*#key_repository = /tmp/keys#
  /log_config_append/d" /mnt/keystone.conf > /etc/keystone/keystone.conf
manage() { keystone-manage "$@" >log 2>&1 || { cat log; exit 1; }; }
python3 -c 'import sqlite3; sqlite3.connect("/tmp/db").execute("pragma journal_mode = wal")'
manage db_sync; manage fernet_setup
manage bootstrap --bootstrap-password admins-words --bootstrap-region-id one --bootstrap-public-url http://127.0.0.1:5000/v3
for port in 5000 5001; do
  uwsgi --http-socket 127.0.0.1:$port --need-app --master --disable-logging --buffer-size 65535 \
    --add-header "Connection: close" --module keystone.wsgi.api:application >uwsgi.$port 2>&1 &
done
python3 - <<end || cat uwsgi.*
import json, time, urllib.error, urllib.request
def ask(port, method, path, body=None, **headers):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v3{path}", method=method, data=body and json.dumps(body).encode(),
        headers={"Content-Type": "application/json", **{name.replace("_", "-"): headers[name] for name in headers}},
    )
    try:
        with urllib.request.urlopen(request) as answer:
            text = answer.read()
            return answer.status, answer.headers, json.loads(text) if text else {}
    except urllib.error.HTTPError as error:
        return error.code, error.headers, {}
for port in (5000, 5001):
    for _ in range(600):
        try:
            ask(port, "GET", "/")
            break
        except OSError:
            time.sleep(0.2)
user = {"name": "admin", "password": "admins-words", "domain": {"id": "default"}}
scope = {"project": {"name": "admin", "domain": {"id": "default"}}}
body = {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope}}
token, admin = (ask(5000, "POST", "/auth/tokens", body)[1]["X-Subject-Token"] for _ in range(2))
def validate(port):
    return ask(port, "GET", "/auth/tokens", X_Auth_Token=admin, X_Subject_Token=token)
def catalog(port):
    return sorted(one["type"] for one in validate(port)[2]["token"]["catalog"])
print("before:", *(validate(port)[0] for port in (5000, 5001)))
print("catalog before:", *(catalog(port) for port in (5000, 5001)))
made = ask(5000, "POST", "/services", {"service": {"type": "image", "name": "glance"}}, X_Auth_Token=admin)[2]
end = {"service_id": made["service"]["id"], "interface": "public", "url": "http://a", "region_id": "one"}
ask(5000, "POST", "/endpoints", {"endpoint": end}, X_Auth_Token=admin)
print("catalog after:", *(catalog(port) for port in (5000, 5001)))
print("revoked:", ask(5000, "DELETE", "/auth/tokens", X_Auth_Token=admin, X_Subject_Token=token)[0])
print("after:", *(validate(port)[0] for port in (5000, 5001)))
end
"""


def test_every_keystone_refuses_a_revoked_token_and_shows_a_changed_catalog_at_once(
    image: Callable[[str], Image], tmp_path: Path
) -> None:
    stage = Stage(tmp_path)
    stage.objects["keystone"] = stage.render("keystone")
    (stage.shared / "keystone.conf").write_text(stage.file("keystone", "keystone.conf"))
    mounts = {"/mnt": stage.shared, "/etc/keystone": stage.folder("etc-keystone")}
    said = image("openstack").run("bash", "-c", _TWO, uid=42424, mounts=mounts).stdout
    assert said.splitlines()[-5:] == [
        "before: 200 200",
        "catalog before: ['identity'] ['identity']",
        "catalog after: ['identity', 'image'] ['identity', 'image']",
        "revoked: 204",
        "after: 404 404",
    ], said


def test_nothing_that_another_pod_writes_into_memcached_is_run_by_keystone_nova_or_any_api(
    image: Callable[[str], Image], tmp_path: Path
) -> None:
    stage = Stage(tmp_path, *SERVICES)
    stage.objects["keystone"] = stage.render("keystone")
    files = {"keystone": "keystone.conf"} | {name: f"{name}.conf" for name in SERVICES} | {"glance": "glance-api.conf"}
    for name, file in files.items():
        (stage.shared / f"{name}.conf").write_text(stage.file(name, file))
    (stage.shared / "ask.py").write_text(_ASK)
    said = image("openstack").run("python3", "-W", "ignore", "/mnt/ask.py", uid=42424, mounts={"/mnt": stage.shared})
    lines = said.stdout.splitlines()
    wanted = {f"tokens-of-{name} asked" for name in SERVICES} | {"keystone asked", "nova asked"}
    assert wanted <= set(lines), said.stdout
    assert lines[-1] == "loaded: nothing", said.stdout
