"""Certificates of PEM files that a site file names: read them, and follow a chain to its root.

The library is imported late: most sites name no file.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----", re.DOTALL)
_LABELS = ("CERTIFICATE", "X509 CERTIFICATE")


@dataclass(frozen=True, slots=True)
class Pem:
    """What a PEM file holds. No private key is kept, only whether there is one."""

    certificates: tuple[x509.Certificate, ...]
    damaged: bool  # a certificate does not parse, has a key nobody knows, or no end
    private_key: bool
    others: tuple[str, ...]  # labels of other blocks


def parse(text: str) -> Pem:
    """Return the content of the PEM file ``text``."""
    from cryptography import x509

    found, others, damaged = list[x509.Certificate](), list[str](), False
    blocks = list(_BLOCK.finditer(text))
    for block in blocks:
        if (label := block[1]) not in _LABELS:
            others.append(label)
            continue
        try:
            with warnings.catch_warnings(action="ignore"):  # of old roots, whose serial number is 0
                one = x509.load_pem_x509_certificate(block[0].encode())
            one.public_key(), one.subject, one.issuer, list(one.extensions)  # each is parsed when asked for
        except Exception:  # noqa: BLE001  # the library's own classes, too: of keys it does not know, of extensions twice
            damaged = True
        else:
            found.append(one)
    secret = "PRIVATE KEY-----" in text
    return Pem(tuple(found), damaged or text.count("-----BEGIN ") > len(blocks), secret, tuple(others))


def text_of(certificates: Iterable[x509.Certificate]) -> str:
    """Return ``certificates`` in PEM, in one form whatever their file looked like."""
    from cryptography.hazmat.primitives.serialization import Encoding

    return "".join(one.public_bytes(Encoding.PEM).decode("ascii") for one in certificates)


def name_of(certificate: x509.Certificate) -> str:
    """Return the subject of ``certificate`` for people."""
    return certificate.subject.rfc4514_string() or "without a subject"


def is_ca(certificate: x509.Certificate) -> bool:
    """Return whether ``certificate`` may sign others."""
    from cryptography import x509

    try:
        return bool(certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca)
    except x509.ExtensionNotFound:
        return False


def may_sign(certificate: x509.Certificate) -> bool:
    """Return whether ``certificate`` is a CA's, or a root from before there were constraints."""
    from cryptography import x509

    return is_ca(certificate) or (
        is_root(certificate) and not any(isinstance(one.value, x509.BasicConstraints) for one in certificate.extensions)
    )


def is_root(certificate: x509.Certificate) -> bool:
    """Return whether ``certificate`` signed itself."""
    return certificate.subject == certificate.issuer and issued(certificate, certificate)


def issued(issuer: x509.Certificate, certificate: x509.Certificate) -> bool:
    """Return whether ``issuer`` signed ``certificate``."""
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


@dataclass(frozen=True, slots=True)
class Chain:
    """The way of a leaf to its root."""

    path: tuple[x509.Certificate, ...]  # leaf first, without the root
    root: x509.Certificate | None  # that hosts trust; None: there is none
    ordered: bool  # each certificate of the file is followed by its issuer


def follow(certificates: Sequence[x509.Certificate], roots: Iterable[x509.Certificate]) -> Chain:
    """Return the chain of the first of ``certificates`` to one of ``roots``."""
    known: dict[bytes, list[x509.Certificate]] = {}
    for one in roots:
        known.setdefault(one.subject.public_bytes(), []).append(one)
    path, left, ordered = [certificates[0]], list(certificates[1:]), True
    while True:
        last = path[-1]
        if any(last == one for one in known.get(last.subject.public_bytes(), ())):
            return Chain(tuple(path[:-1]), last, ordered)
        root = next((one for one in known.get(last.issuer.public_bytes(), ()) if issued(one, last)), None)
        if root is not None:
            return Chain(tuple(path), root, ordered)
        following = next((one for one in left if one.subject == last.issuer and issued(one, last)), None)
        if following is None:
            return Chain(tuple(path), None, ordered)
        ordered = ordered and following is left[0]
        left.remove(following)
        path.append(following)


@cache
def public_roots() -> tuple[x509.Certificate, ...]:
    """Return the CAs that every program trusts: Mozilla's, as Debian has them."""
    from requests.utils import DEFAULT_CA_BUNDLE_PATH

    return parse(Path(DEFAULT_CA_BUNDLE_PATH).read_text(encoding="utf-8")).certificates


def names(certificate: x509.Certificate) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the DNS names of ``certificate``, wildcards included, and its addresses."""
    from cryptography import x509

    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return (), ()
    dns = tuple(name.lower() for name in found.get_values_for_type(x509.DNSName))
    return dns, tuple(str(address) for address in found.get_values_for_type(x509.IPAddress))


def covers(certificate: x509.Certificate, name: str) -> bool:
    """Return whether ``certificate`` is for ``name``. A wildcard stands for one label, the first (RFC 6125, 6.4.3)."""
    dns, addresses = names(certificate)
    try:
        return str(ip_address(name)) in addresses
    except ValueError:
        return name in dns or f"*.{name.partition('.')[2]}" in dns
