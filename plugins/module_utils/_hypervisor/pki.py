"""Place the host's certificate for OVN, libvirt and QEMU: as files, because AppArmor rejects symbolic links.

Each listener and client believes the authorities of its use alone: a certificate of another use opens nothing here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from .._base import files, tls
from .._base.changes import Changes
from .._host.units import Unit

OURS = Path("/etc/groundup/hypervisor")
LIBVIRT, QEMU = Path("/etc/pki/libvirt"), Path("/etc/pki/qemu")
MIGRATION = "migration"  # below QEMU: of hypervisors alone, where consoles let the console proxy in
QUEUE = "queue-ca.pem"
AUTHORITY = Path("/etc/pki/CA/cacert.pem")
_WARN_DAYS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Certificate and key of the host, and whom it believes. PEM."""

    user: str
    certificate: str
    key: str = field(repr=False)
    authority: str  # of hypervisors
    consoles: str  # authority of the console proxy
    ovn: str  # authority of OVN's databases
    queue: str  # authority of RabbitMQ


def own(changes: Changes, pair: Pair, *, readers: int | None, units: tuple[Unit, ...]) -> None:
    """Place what ovn-controller and the OVN agent (``units``) show, and the queue's CA. Raises GroundupError."""

    def mark() -> None:
        for unit in units:
            unit.mark()

    files.place(changes, OURS / QUEUE, pair.queue, before=mark)
    names = {"certificate": "certificate.pem", "key": "key.pem", "authority": "ca.pem"}
    _place(changes, pair, names, OURS, believes=pair.ovn, readers=readers, before=mark)
    if any(path.parent == OURS for path in changes.written):
        for unit in units:
            unit.replaced()


def of_libvirt(changes: Changes, pair: Pair, *, readers: int | None) -> bool:
    """Place the certificates of libvirt and QEMU; return whether libvirt's changed.

    ``readers``: group of QEMU's processes. QEMU reads its own at each start of a guest, or on request; the caller
    restarts libvirtd.
    """
    before = set(changes.written)
    files.place(changes, AUTHORITY, pair.authority)
    for kind in ("server", "client"):
        files.place(changes, LIBVIRT / f"{kind}cert.pem", pair.certificate)
        files.place(changes, LIBVIRT / f"private/{kind}key.pem", pair.key, mode=0o600, secret=True)
        names = {"certificate": f"{kind}-cert.pem", "key": f"{kind}-key.pem", "authority": "ca-cert.pem"}
        both = f"{pair.authority.rstrip()}\n{pair.consoles}"
        _place(changes, pair, names, QEMU, believes=both, readers=readers)
        _place(changes, pair, names, QEMU / MIGRATION, believes=pair.authority, readers=readers)
    return any(path.is_relative_to(LIBVIRT) or path == AUTHORITY for path in changes.written - before)


def soon(changes: Changes, host: str) -> None:
    """Warn when the host's certificate expires within 30 days. Raises GroundupError when it cannot be read."""
    remedy = "run the playbook groundup.cloud.hypervisor, which brings the renewed one"
    days = tls.days_left(OURS / "certificate.pem", why="OVN, libvirt, consoles: all show it", remedy=remedy)
    if days < _WARN_DAYS:
        changes.warnings.append(f"the certificate of {host} ends in {days} days: {remedy}")


def _place(
    changes: Changes, pair: Pair, names: dict[str, str], where: Path, *, believes: str, readers: int | None,
    before: Callable[[], object] | None = None,
) -> None:  # fmt: skip
    both = tls.with_key(pair.certificate, pair.key)
    files.place(changes, where / names["authority"], believes, before=before)
    files.place(changes, where / names["certificate"], pair.certificate, before=before)
    files.place(
        changes, where / names["key"], pair.key, mode=0o640, group=readers, secret=True,
        valid=partial(_check, both=both, user=pair.user), before=before,
    )  # fmt: skip


def _check(path: Path, *, both: str, user: str) -> None:
    """Refuse a key that does not fit its certificate, checked in a temporary file beside the new one."""
    beside = path.with_name(f"{path.name}.pair")
    files.write_file(beside, both.encode(), mode=0o600)
    try:
        tls.check_pair(beside, user=user)
    finally:
        beside.unlink()
