"""What certificates say, read with the standard library alone."""

from __future__ import annotations

import base64
import hashlib
import re
import ssl
import time
from pathlib import Path
from typing import Any

PEM = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
SEQUENCE = 0x30
EXPLICIT_VERSION = 0xA0


def first_certificate(text: str) -> bytes | None:
    """Return the first certificate of a PEM ``text`` in DER, or None when there is no whole one."""
    found = PEM.search(text)
    if found is None:
        return None
    try:
        return ssl.PEM_cert_to_DER_cert(found.group())
    except ValueError:
        return None


def fingerprint(der: bytes) -> str:
    """Return the SHA-256 of a certificate, in hexadecimal: what two copies of one CA have in common."""
    return hashlib.sha256(der).hexdigest()


def public_key_hash(der: bytes) -> str:
    """Return kubeadm's pin of a CA: ``sha256:`` of its SubjectPublicKeyInfo (RFC 7469, RFC 5280 4.1).

    Raises ValueError when ``der`` is not a certificate.
    """
    _, body, _ = _element(der, 0)  # Certificate
    _, start, _ = _element(der, body)  # TBSCertificate
    tag, _, end = _element(der, start)
    position = end if tag == EXPLICIT_VERSION else start
    for _ in range(5):  # serialNumber, signature, issuer, validity, subject
        _, _, position = _element(der, position)
    tag, _, end = _element(der, position)
    if tag != SEQUENCE:
        raise ValueError("not a certificate: no public key where RFC 5280 puts it")
    return "sha256:" + hashlib.sha256(der[position:end]).hexdigest()


def _element(der: bytes, at: int) -> tuple[int, int, int]:
    """Return tag, start of the content and end of the DER element at offset ``at``. Raises ValueError."""
    if at + 2 > len(der):
        raise ValueError("not a certificate: it ends too early")
    tag, length, start = der[at], der[at + 1], at + 2
    if length & 0x80:
        size = length & 0x7F
        length, start = int.from_bytes(der[start : start + size], "big"), start + size
    if start + length > len(der):
        raise ValueError("not a certificate: it ends too early")
    return tag, start, start + length


def decode(path: Path) -> dict[str, Any]:
    """Return the fields of the first certificate in the file ``path``. Raises OSError, ssl.SSLError."""
    # The only reader of a certificate's fields in the standard library; the public functions show a peer's alone.
    fields: dict[str, Any] = ssl._ssl._test_decode_cert(str(path))  # type: ignore[attr-defined]
    return fields


def days_left(fields: dict[str, Any], *, now: float | None = None) -> int:
    """Return the whole days until a certificate ends, negative when it has."""
    seconds = ssl.cert_time_to_seconds(fields["notAfter"]) - (time.time() if now is None else now)
    return int(seconds // 86400)


def names(fields: dict[str, Any]) -> frozenset[str]:
    """Return a certificate's subject alternative names."""
    return frozenset(value for _, value in fields.get("subjectAltName", ()))


def pem_of(data: str) -> str:
    """Return the text of base64 ``data``, as kubeconfig files carry certificates; empty when it is none."""
    try:
        return base64.b64decode(data, validate=True).decode("ascii")
    except ValueError:
        return ""
