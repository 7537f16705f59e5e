"""libvirt of a hypervisor: TLS for live migration, ports that collide with nobody's, no network of its own."""

from __future__ import annotations

from pathlib import Path

from .._base.changes import Changes
from .._base.files import HEADER
from .._base.run import attempt
from .._host.units import Unit, control, properties
from . import pki
from .accounts import group_id
from .pki import Pair

DAEMON, TLS = "libvirtd.service", "libvirtd-tls.socket"
QEMU = Path("/etc/libvirt/qemu.conf")
LIBVIRTD = Path("/etc/libvirt/libvirtd.conf")
GROUP = "libvirt-qemu"

_QEMU = f"""{HEADER}\
default_tls_x509_cert_dir = "{pki.QEMU}"
default_tls_x509_verify = 1
migrate_tls_x509_cert_dir = "{pki.QEMU}"
migrate_tls_x509_verify = 1
# Not the default's: those are handed out to everybody's outgoing connections.
migration_port_min = 61152
migration_port_max = 61215
"""
_LIBVIRTD = f"""{HEADER}\
unix_sock_group = "libvirt"
unix_sock_rw_perms = "0770"
auth_unix_rw = "none"
# Who shows a certificate of the site's CA is a hypervisor, or the site's own.
listen_tls = 1
auth_tls = "none"
max_clients = 200
max_workers = 50
max_client_requests = 20
"""


def configure(changes: Changes, pair: Pair) -> None:
    """Bring libvirt to what a hypervisor needs. A restart leaves guests running. Raises GroundupError."""
    daemon = Unit(changes, DAEMON)
    daemon.place(QEMU, _QEMU)
    daemon.place(LIBVIRTD, _LIBVIRTD)
    if pki.of_libvirt(changes, pair, readers=group_id(GROUP)):
        daemon.replaced()
        if not changes.check:
            daemon.mark()
    # The socket cannot be added while the daemon runs, which would not know of it.
    listening = properties(TLS, "ActiveState").get("ActiveState") == "active"
    if not listening and changes.add(f"start {TLS}"):
        control("stop", DAEMON)
        attempt(["systemctl", "enable", "--quiet", "--", TLS])
        control("start", TLS)
    daemon.running()


def silent() -> str:
    """Return why libvirt does not answer, "" when it does."""
    said = attempt(["virsh", "--connect", "qemu:///system", "version"], timeout=30)
    return "" if said.returncode == 0 else said.stderr.strip() or "no answer"
