"""Configure libvirt and QEMU: TLS for live migration and consoles, migration ports outside the ephemeral range."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .._base.changes import Changes
from .._base.files import HEADER
from .._base.run import attempt
from .._host.accounts import group_id
from .._host.units import Unit, control, properties
from . import pki, taps
from .pki import Pair

DAEMON, TLS = "libvirtd.service", "libvirtd-tls.socket"
QEMU = Path("/etc/libvirt/qemu.conf")
LIBVIRTD = Path("/etc/libvirt/libvirtd.conf")
GROUP = "libvirt-qemu"
VIRSH = ("virsh", "--connect", "qemu:///system")

_QEMU = f"""{HEADER}\
# Migration and its copy of disks: for hypervisors alone.
default_tls_x509_cert_dir = "{pki.QEMU / pki.MIGRATION}"
default_tls_x509_verify = 1
migrate_tls_x509_cert_dir = "{pki.QEMU / pki.MIGRATION}"
migrate_tls_x509_verify = 1
# Consoles: for hypervisors and the console proxy.
vnc_tls = 1
vnc_tls_x509_cert_dir = "{pki.QEMU}"
vnc_tls_x509_verify = 1
# Not the default's: those are handed out to everybody's outgoing connections.
migration_port_min = 61152
migration_port_max = 61215
"""


def _libvirtd(hypervisors: Iterable[str], *, uuid: str) -> str:
    """Return libvirtd's configuration. Who may connect is root here: ``hypervisors`` of the plan, by name."""
    names = ", ".join(f'"CN={one}"' for one in sorted(hypervisors))
    return f"""{HEADER}\
host_uuid = "{uuid}"
unix_sock_group = "libvirt"
unix_sock_rw_perms = "0770"
auth_unix_rw = "none"
listen_tls = 1
auth_tls = "none"
tls_allowed_dn_list = [{names}]
max_clients = 200
max_workers = 50
max_client_requests = 20
"""


def configure(changes: Changes, pair: Pair, *, hypervisors: Iterable[str], uuid: str, datapath: str) -> None:
    """Configure libvirt for one of ``hypervisors``. A restart keeps guests running. Raises GroundupError."""
    daemon, before = Unit(changes, DAEMON), set(changes.written)
    daemon.place(QEMU, _QEMU)
    daemon.place(LIBVIRTD, _libvirtd(hypervisors, uuid=uuid))
    taps.switched_on(daemon, datapath=datapath)  # libvirtd finds hooks only at its start
    if pki.of_libvirt(changes, pair, readers=group_id(GROUP)):
        daemon.replaced()
        if not changes.check:
            daemon.mark()
    # The socket cannot be started while the daemon runs.
    listening = properties(TLS, "ActiveState").get("ActiveState") == "active"
    if not listening and changes.add(f"start {TLS}"):
        control("stop", DAEMON)
        attempt(["systemctl", "enable", "--quiet", "--", TLS])
        control("start", TLS)
    daemon.running()
    if any(path.is_relative_to(pki.QEMU) for path in changes.written - before) and not changes.check:
        _show_renewed(changes)


def _show_renewed(changes: Changes) -> None:
    """Make running guests' consoles load QEMU's new certificate, which they read only at their start."""
    guests = attempt([*VIRSH, "list", "--uuid"], timeout=30).stdout.split()
    failed = [one for one in guests if attempt([*VIRSH, "domdisplay-reload", one, "--type", "vnc"]).returncode]
    if failed:
        changes.warnings.append(
            f"consoles keep the certificate (or none) that their guests were started with: {', '.join(failed)}; "
            "a migration or a hard reboot ends that"
        )


def silent() -> str:
    """Return why libvirt does not answer, "" when it does."""
    said = attempt([*VIRSH, "version"])  # a new libvirt looks first at what QEMU can: half a minute on a busy machine
    return "" if said.returncode == 0 else said.stderr.strip() or "no answer"
