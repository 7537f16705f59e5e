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
