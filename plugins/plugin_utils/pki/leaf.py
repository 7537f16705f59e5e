"""Certificates of servers, issued by the site's authority and replaced in time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ..files import write_atomic
from ..secrets import Store
from .authority import BACKDATE, Authority, ensure_key, key_usage, read_certificate, same_key, to_pem

LIFETIME = timedelta(days=397)  # the longest that browsers accept (CA/Browser Forum, SC-31)
RENEW_BEFORE = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A server's certificate; its key is in the store as ``pki/<name>-key``."""

    certificate: x509.Certificate
    reason: str  # why it was issued now; empty: the one there is still good

    @property
    def pem(self) -> str:
        """The certificate, public."""
        return to_pem(self.certificate)


def ensure_leaf(
    authority: Authority,
    store: Store,
    directory: Path,
    *,
    name: str,
    hosts: Iterable[str],
    now: datetime | None = None,
    write: bool = True,
) -> Leaf:
    """Return the certificate ``directory/pki/<name>.crt`` for ``hosts`` (DNS names, IP addresses), issued when needed.

    It is issued again when the names, the key or the authority changed, or 30 days before its end. ``write=False``
    predicts. Raises PkiError, SecretsError, OSError.
    """
    now = now or datetime.now(UTC)
    names = _subject_alternatives(hosts)
    key = ensure_key(store, f"pki/{name}-key")
    path = directory / "pki" / f"{name}.crt"
    current = read_certificate(path)
    reason = _why(current, authority=authority, key=key, names=names, now=now)
    if current is not None and not reason:
        return Leaf(certificate=current, reason="")
    certificate = _signed(authority, key, name=name, names=names, now=now)
    if write:
        path.parent.mkdir(mode=0o755, exist_ok=True)
        write_atomic(path, to_pem(certificate).encode(), mode=0o644)
    return Leaf(certificate=certificate, reason=reason)


def _why(
    current: x509.Certificate | None,
    *,
    authority: Authority,
    key: ec.EllipticCurvePrivateKey,
    names: list[x509.GeneralName],
    now: datetime,
) -> str:
    if current is None:
        return "new"
    if not same_key(current, key):
        return "another key"
    try:
        current.verify_directly_issued_by(authority.certificate)
    except (ValueError, TypeError, InvalidSignature):
        return "another authority"
    if set(current.extensions.get_extension_for_class(x509.SubjectAlternativeName).value) != set(names):
        return "other names"
    if current.not_valid_after_utc - now < RENEW_BEFORE:
        return "close to its end"
    return ""


def _signed(
    authority: Authority, key: ec.EllipticCurvePrivateKey, *, name: str, names: list[x509.GeneralName], now: datetime
) -> x509.Certificate:
    issuer = authority.certificate
    public = key.public_key()
    identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])]))
        .issuer_name(issuer.subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATE)
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(sign_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        .sign(authority.key, hashes.SHA256())
    )


def _subject_alternatives(hosts: Iterable[str]) -> list[x509.GeneralName]:
    names: list[x509.GeneralName] = []
    for host in sorted(set(hosts)):
        try:
            names.append(x509.IPAddress(ip_address(host)))
        except ValueError:
            names.append(x509.DNSName(host))
    return names
