"""Read certificates with the OS's openssl."""

from __future__ import annotations

import hashlib
import ssl
from ipaddress import ip_address
from pathlib import Path

from .._base import tls
from .._base.run import run

_WHY = "a node whose certificate cannot be read will not start again"
_REMEDY = "restore it from a backup of /etc/kubernetes/pki, or remove it and run kubeadm certs renew"


def first_certificate(text: str) -> bytes | None:
    """Return the first certificate of a PEM ``text`` in DER; None when there is no complete one."""
    found = tls.certificates(text)
    try:
        return ssl.PEM_cert_to_DER_cert(found[0]) if found else None
    except ValueError:
        return None


def fingerprint(der: bytes) -> str:
    """Return the SHA-256 of a certificate, in hexadecimal; copies of one CA share it."""
    return hashlib.sha256(der).hexdigest()


def days_left(path: Path) -> int:
    """Return the full days until the certificate in ``path`` expires, negative after that. Raises GroundupError."""
    return tls.days_left(path, why=_WHY, remedy=_REMEDY)


def names(path: Path) -> frozenset[str]:
    """Return the subject alternative names of the certificate in ``path``. Raises GroundupError."""
    _, _, listed = _shown(path, "-ext", "subjectAltName").partition("\n")
    found = (item.strip().partition(":") for item in listed.split(",") if item.strip())
    return frozenset(str(ip_address(name)) if kind == "IP Address" else name for kind, _, name in found)


def _shown(path: Path, *what: str) -> str:
    return run(
        ["openssl", "x509", "-in", str(path), "-noout", *what],
        why=_WHY,
        remedy=_REMEDY,
    )
