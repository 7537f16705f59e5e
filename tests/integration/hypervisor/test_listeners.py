"""Certificates of a site at the real libvirtd, QEMU and ovsdb-server of a host: who gets in where.

The whole table, of what the code writes, is `tests/unit/pki/test_listeners.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base import tls
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import libvirt
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import pki as placed
from ansible_collections.groundup.cloud.plugins.module_utils._ovn.databases import CA, CHASSIS_CA, MEMBER
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.authorities import USES, file
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import LeafSpec, ensure_authority, ensure_leaf
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Store
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root

ADDRESS = "10.90.0.41"
LEAVES = (
    LeafSpec(user="hypervisor-1", authority="hypervisor", names=("hypervisor-1", ADDRESS), usage="both"),
    LeafSpec(user="hypervisor-2", authority="hypervisor", names=("hypervisor-2",), usage="both"),
    LeafSpec(user="former", authority="hypervisor", names=("former",), usage="both"),
    LeafSpec(user="nova-novncproxy", authority="console", usage="client"),
    LeafSpec(user="ovn-control-1", authority="ovn", names=("control-1",), usage="both"),
    LeafSpec(user="edge", names=("identity.cloud.test",)),
    LeafSpec(user="another-client", usage="client"),
)
# Each ends with 0 only where the listener has let the certificate of /srv/LEAF in.
_LIBVIRT = (
    f"virsh -c 'qemu+tls://{ADDRESS}/system?pkipath=/srv/'$1 uri"  # opens the connection, and has QEMU probe nothing
)
_QEMU = """\
import socket, ssl, struct, sys
leaf, port, vnc = sys.argv[1], int(sys.argv[2]), len(sys.argv) > 3
context = ssl.create_default_context(cafile=f"/srv/{leaf}/cacert.pem")
context.load_cert_chain(f"/srv/{leaf}/clientcert.pem", f"/srv/{leaf}/clientkey.pem")
plain = socket.create_connection(("10.90.0.41", port), timeout=60)
def read(size):
    found = b""
    while len(found) < size:
        found += plain.recv(size - len(found)) or sys.exit("closed")
    return found
if vnc:
    read(12); plain.sendall(b"RFB 003.008\\n")
    kinds = read(read(1)[0]); assert 19 in kinds; plain.sendall(bytes((19,)))
    read(2); plain.sendall(bytes((0, 2))); assert read(1) == bytes(1)
    offered = struct.unpack(f"!{(count := read(1)[0])}I", read(4 * count)); assert offered == (260,), offered
    plain.sendall(struct.pack("!I", 260)); assert read(1) == bytes((1,))
else:
    read(18); plain.sendall(struct.pack("!I", 3) + b"IHAVEOPT" + struct.pack("!II", 5, 0)); read(20)
with context.wrap_socket(plain, server_hostname="10.90.0.41") as secure:
    if not vnc:
        secure.sendall(b"IHAVEOPT" + struct.pack("!II", 3, 0))  # list
    sys.exit(0 if secure.recv(4) else "closed")
"""
_OVN = "ovsdb-client -t 20 -p /srv/$1/clientkey.pem -c /srv/$1/clientcert.pem -C {ca} list-dbs ssl:{address}:{port}"
ASKS = {
    "libvirt": ("sh", "-c", _LIBVIRT, "sh"),
    "console": ("python3", "/srv/qemu.py", "{}", "5900", "vnc"),
    "disks of a migration": ("python3", "/srv/qemu.py", "{}", "10809"),
    "northbound": ("sh", "-c", _OVN.format(ca=CA, address=ADDRESS, port=6641), "sh"),
    "southbound": ("sh", "-c", _OVN.format(ca=CA, address=ADDRESS, port=6642), "sh"),
}
LET_IN = {
    "libvirt": {"hypervisor-1", "hypervisor-2"},
    "console": {"hypervisor-1", "hypervisor-2", "former", "nova-novncproxy"},
    "disks of a migration": {"hypervisor-1", "hypervisor-2", "former"},
    "northbound": {"ovn-control-1"},
    "southbound": {"hypervisor-1", "hypervisor-2", "former", "ovn-control-1"},
}


def _place(host: HostRoot, directory: Path) -> None:
    """Give the host its files, and each leaf's owner a directory below /tmp."""
    store = Store.open(directory, PasswordSource(path=directory / "password", ours=True))
    signing = {use: ensure_authority(store, directory, site="test", use=use) for use in USES}
    pem = {use: (directory / file(use)).read_text() for use in USES}
    texts = {CA: pem["ovn"], CHASSIS_CA: pem["ovn"] + pem["hypervisor"], placed.AUTHORITY: pem["hypervisor"]}
    for spec in LEAVES:
        leaf, key = ensure_leaf(signing[spec.authority], store, directory, spec).pem, store.get(spec.key_name)
        own = Path("/srv", spec.user)
        texts |= {own / "clientcert.pem": leaf, own / "clientkey.pem": key, own / "cacert.pem": "".join(pem.values())}
        if spec.user == "ovn-control-1":
            texts[MEMBER] = tls.with_key(leaf, key)
        if spec.user == "hypervisor-1":
            texts |= {placed.LIBVIRT / "servercert.pem": leaf, placed.LIBVIRT / "private/serverkey.pem": key}
            for place, believed in (
                (placed.QEMU, pem["hypervisor"] + pem["console"]),
                (placed.QEMU / placed.MIGRATION, pem["hypervisor"]),
            ):
                texts |= {
                    place / "server-cert.pem": leaf,
                    place / "server-key.pem": key,
                    place / "ca-cert.pem": believed,
                }
    texts |= {
        libvirt.LIBVIRTD: libvirt._libvirtd(LET_IN["libvirt"], uuid="5d8dfc0a-5f0b-4f5c-8d28-67726f756e64"),
        Path("/srv/qemu.py"): _QEMU,
    }
    for path, text in texts.items():
        host.at(path).parent.mkdir(parents=True, exist_ok=True)
        host.at(path).write_text(text)


def _start(host: HostRoot) -> None:
    host.start("/usr/sbin/libvirtd", "--listen")
    qemu = ("-M", "none", "-nodefaults", "-display", "none", "-S")
    creds = "tls-creds-x509,id=t,endpoint=server,verify-peer=on,dir={}"
    host.start("qemu-system-x86_64", *qemu, "-object", creds.format(placed.QEMU), "-vnc", f"{ADDRESS}:0,tls-creds=t")
    host.run("truncate", "-s", "1M", "/srv/disk")
    host.start(
        "qemu-nbd", "-t", "-b", ADDRESS, "-f", "raw", "-e", "20",
        "--object", creds.format(placed.QEMU / placed.MIGRATION), "--tls-creds", "t", "/srv/disk",
    )  # fmt: skip
    for short, port, believed in (("nb", 6641, CA), ("sb", 6642, CHASSIS_CA)):
        made = host.run("ovsdb-tool", "create", f"/srv/{short}.db", f"/usr/share/ovn/ovn-{short}.ovsschema")
        assert made.returncode == 0, made.stdout
        host.start(
            "ovsdb-server", f"--remote=pssl:{port}:{ADDRESS}", f"--unixctl=/srv/{short}.ctl",
            "--private-key", str(MEMBER), "--certificate", str(MEMBER), "--ca-cert", str(believed), f"/srv/{short}.db",
        )  # fmt: skip


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostRoot]:
    directory = tmp_path_factory.mktemp("host")
    with host_root(directory, f"{ADDRESS}/24") as found:
        _place(found, directory)
        _start(found)
        ports = {16514, 5900, 10809, 6641, 6642}

        def closed() -> str:
            said = found.run("ss", "-Hltn").stdout
            lacking = {port for port in ports if f":{port} " not in said}
            return str(lacking or "")

        assert not wait_until(closed, timeout=60.0), closed()
        yield found


@pytest.mark.parametrize("door", ASKS)
def test_each_certificate_opens_what_its_holder_uses(door: str, host: HostRoot) -> None:
    said = {one.user: host.run(*_argv(ASKS[door], one.user)) for one in LEAVES}
    assert {user for user, done in said.items() if done.returncode == 0} == LET_IN[door], json.dumps(
        {user: done.stdout[-300:] for user, done in said.items()}, indent=1
    )


def _argv(words: tuple[str, ...], user: str) -> list[str]:
    given = [word.replace("{}", user) for word in words]
    return given if given[0] == "python3" else [*given, user]
