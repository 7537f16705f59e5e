"""Services of the images that speak TLS with hypervisors: what they show, and whom they believe."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import LeafSpec, ensure_authority, ensure_leaf
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Store

from .conftest import Image
from .test_services import CHARTS, _owned, _run

# What a client with the site's CA sees, before and after the files are replaced as the kubelet does it: by a link.
_RABBITMQ_TLS = """
ln -s first /run/secrets/tls/now
rabbitmq-server > /tmp/log 2>&1 &
rabbitmqctl --quiet wait --timeout 600 --pid $! || cat /tmp/log
rabbitmqctl --quiet await_startup --timeout 600
cat > /tmp/ask.py <<end
import socket, ssl
context = ssl.create_default_context(cafile="/run/secrets/tls/now/ca.crt")
with context.wrap_socket(socket.create_connection(("127.0.0.1", 5671)), server_hostname="10.90.0.11") as tls:
    tls.sendall(b"AMQP\\x00\\x00\\x09\\x01")
    print(tls.getpeercert()["serialNumber"], tls.version(), "AMQP" if b"capabilities" in tls.recv(4096) else "nothing")
end
python3 /tmp/ask.py
ln -sfn second /run/secrets/tls/now
rabbitmqctl --quiet eval 'ssl:clear_pem_cache().'  # what Erlang does every two minutes
python3 /tmp/ask.py
"""
# As the pod starts it; then a handshake with each console, which lets in whom the CA signed.
_CONSOLE = """
cd /tmp
cp /mnt/console-proxy.py .
cat > console.py <<end
import socket, ssl, struct, sys
listener = socket.create_server(("127.0.0.1", 5900))
open("listens", "w").close()
for name in sys.argv[1:]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile="/mnt/ca.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(f"/mnt/{name}.crt", f"/mnt/{name}.key")
    plain, _ = listener.accept()
    plain.sendall(bytes((0, 2))); plain.recv(2)
    plain.sendall(bytes((0, 1)) + struct.pack("!I", 260)); plain.recv(4)
    plain.sendall(bytes((1,)))
    try:
        with context.wrap_socket(plain, server_side=True) as tls:
            tls.sendall(b"picture of " + tls.getpeercert()["subject"][0][0][1].encode())
    except (ssl.SSLError, ConnectionError):
        plain.close()
end
cat > look.py <<end
import importlib.util, os, sys
spec = importlib.util.spec_from_file_location("console_proxy", "/tmp/console-proxy.py")
proxy = importlib.util.module_from_spec(spec); spec.loader.exec_module(proxy)
from nova import config, exception
from nova.console.rfb import authvencrypt
import eventlet, socket
config.parse_args(["/opt/bin/console-proxy.py"])
for name in ("hypervisor", "stranger", "elsewhere"):
    try:
        tls = authvencrypt.RFBAuthSchemeVeNCrypt().security_handshake(socket.create_connection(("127.0.0.1", 5900)))
        print(name, tls.recv(100).decode())
    except exception.RFBAuthHandshakeFailed as error:
        print(name, "refused", "CERTIFICATE_VERIFY_FAILED" in str(error))
end
python3 console.py hypervisor stranger elsewhere &
for _ in $(seq 600); do [ -e listens ] && break; sleep 0.5; done
python3 look.py 2>&1
"""


def test_rabbitmq_shows_hosts_its_certificate_and_a_renewed_one_without_a_restart(
    image: Callable[[str], Image], tmp_path: Path
) -> None:
    options = re.findall(r"^ssl_options.+$", (CHARTS / "rabbitmq/templates/_conf.tpl").read_text(), re.M)
    conf = [*options, "listeners.ssl.1 = :::5671", "listeners.tcp.1 = :::5672"]
    etc, data, tls = (_owned(tmp_path / name, 999) for name in ("etc", "data", "tls"))
    (etc / "rabbitmq.conf").write_text("\n".join(conf).replace("/secrets/tls/", "/secrets/tls/now/") + "\n")
    store = Store.open(tmp_path, PasswordSource(path=tmp_path / "password", ours=True))
    authority = ensure_authority(store, tmp_path, site="test")
    for name in ("first", "second"):
        spec = LeafSpec(user=name, names=("10.90.0.11",))
        leaf = ensure_leaf(authority, store, tmp_path, spec)
        texts = {"ca.crt": authority.pem, "tls.crt": leaf.pem, "tls.key": store.get(spec.key_name)}
        (tls / name).mkdir()
        for file, text in texts.items():
            (tls / name / file).write_text(text)
    mounts = {"/var/lib/rabbitmq": data, "/etc/rabbitmq": etc, "/run/secrets/tls": tls}
    env = {"HOME": "/var/lib/rabbitmq", "RABBITMQ_NODENAME": "rabbit@localhost"}
    said = _run(image("rabbitmq"), _RABBITMQ_TLS, uid=999, mounts=mounts, env=env)
    answers = [line.split() for line in said.splitlines() if line.endswith("AMQP")]
    assert [answer[1:] for answer in answers] == [["TLSv1.3", "AMQP"]] * 2, said
    assert answers[0][0] != answers[1][0], "the renewed certificate is the one that new connections see"


def test_the_console_proxy_believes_no_console_but_one_with_the_sites_certificate_for_its_address(
    image: Callable[[str], Image], tmp_path: Path
) -> None:
    tmp_path.chmod(0o755)
    mnt, strange = tmp_path / "mnt", tmp_path / "strange"
    for directory in (mnt, strange, mnt / "conf"):
        directory.mkdir()
    shutil.copy(CHARTS / "nova/files/console-proxy.py", mnt)
    users = {
        "hypervisor": (mnt, "127.0.0.1"), "elsewhere": (mnt, "10.90.0.9"), "stranger": (strange, "127.0.0.1"),
        "nova-novncproxy": (mnt, "proxy"),
    }  # fmt: skip
    for name, (directory, called) in users.items():
        store = Store.open(directory, PasswordSource(path=tmp_path / "password", ours=True))
        authority = ensure_authority(store, directory, site="test")
        spec = LeafSpec(user=name, names=(called,), usage="both")
        (mnt / f"{name}.crt").write_text(ensure_leaf(authority, store, directory, spec).pem)
        (mnt / f"{name}.key").write_text(store.get(spec.key_name))
    options = {"client_key": "nova-novncproxy.key", "client_cert": "nova-novncproxy.crt", "ca_certs": "ca.crt"}
    lines = ["[vnc]", *(f"vencrypt_{option} = /mnt/{file}" for option, file in options.items())]
    (mnt / "conf/vnc.conf").write_text("\n".join(lines) + "\n")
    said = _run(image("openstack"), _CONSOLE, uid=42424, mounts={"/mnt": mnt, "/etc/nova/nova.conf.d": mnt / "conf"})
    answers = dict(line.split(" ", 1) for line in said.splitlines() if line.split(" ")[0] in users)
    assert answers == {
        "hypervisor": "picture of nova-novncproxy", "stranger": "refused True", "elsewhere": "refused True",
    }, said  # fmt: skip
