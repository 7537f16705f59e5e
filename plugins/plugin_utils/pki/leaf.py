"""Certificates of servers and clients, issued by one of the site's CAs and renewed in time.

Each user of the CA has a name (``edge``, ``ovn-nb``, ``compute-1``). Its key is the secret ``pki/<user>-key``, its
certificate the file ``pki/<user>.crt`` in the site's state directory.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ...module_utils._base.files import write_file
from ..layers.authorities import Use
from ..vault import Store
from ..vault.names import CA_KEY, check_name
from . import authority as ca
from .authority import (
    BACKDATE,
    Authority,
    PkiError,
    ensure_key,
    issued_by,
    key_usage,
    read_certificate,
    same_key,
    to_pem,
)

Usage = Literal["server", "client", "both"]

_EXTENDED = {
    "server": (ExtendedKeyUsageOID.SERVER_AUTH,),
    "client": (ExtendedKeyUsageOID.CLIENT_AUTH,),
    "both": (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH),
}


def key_name(user: str) -> str:
    """Return the name of the secret with the private key of ``user``."""
    return f"pki/{user}-key"


def certificate_path(directory: Path, user: str) -> Path:
    """Return the path of the certificate of ``user`` in the site's state ``directory``."""
    return directory / "pki" / f"{user}.crt"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafSpec:
    """The certificate that a user of the CA needs. Raises PkiError if it cannot be issued."""

    user: str
    authority: Use = "site"
    names: tuple[str, ...] = ()  # DNS names and IP addresses; a client may have none
    usage: Usage = "server"
    days: int = 397  # the maximum that browsers accept (CA/Browser Forum, SC-31)

    def __post_init__(self) -> None:
        """Refuse a certificate that no client would accept, or that would outlive the CA."""
        check_name(self.key_name, where=f"certificate of {self.user!r}")
        longest = ca.RENEW_BEFORE.days
        if self.key_name == CA_KEY or "/" in self.user:
            self._refuse(f"{self.user!r} is no user of the authority", "its key would be another's", "choose a word")
        if not self.names and self.usage != "client":
            self._refuse("a server's certificate has no name", "clients would refuse it", "name its hosts or addresses")
        if not 1 <= self.days <= longest:
            self._refuse(f"a life of {self.days} days", "it would outlive the authority", f"choose 1 to {longest}")

    def _refuse(self, what: str, why: str, remedy: str) -> None:
        raise PkiError(what, where=f"certificate of {self.user!r}", why=why, remedy=remedy)

    @property
    def key_name(self) -> str:
        """Return the name of the secret with the private key."""
        return key_name(self.user)

    @property
    def life(self) -> timedelta:
        """Return the validity of the certificate."""
        return timedelta(days=self.days)

    @property
    def renew_before(self) -> timedelta:
        """Return how long before its expiry it is renewed: 90 days, or a third of a short life.

        Only a run can renew it, because the CA's key is in the store; with 90 days, one run per quarter is enough.
        """
        return min(timedelta(days=90), self.life / 3)

    @property
    def alternative_names(self) -> list[x509.GeneralName]:
        """Return the certificate's alternative names, sorted."""
        return [_general_name(name) for name in sorted(set(self.names))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A certificate of a user; its key is in the store."""

    certificate: x509.Certificate
    reason: str  # why it was issued now; empty: the existing one is still valid

    @property
    def pem(self) -> str:
        """Return the public certificate in PEM."""
        return to_pem(self.certificate)


def ensure_leaf(
    authority: Authority,
    store: Store,
    directory: Path,
    spec: LeafSpec,
    *,
    now: datetime | None = None,
    write: bool = True,
) -> Leaf:
    """Return the certificate ``directory/pki/<user>.crt``; issue it if missing, different from ``spec`` or near expiry.

    ``write=False`` is a dry run. Raises PkiError, SecretsError, OSError.
    """
    now = now or datetime.now(UTC)
    key = ensure_key(store, spec.key_name)
    path = certificate_path(directory, spec.user)
    current = read_certificate(path)
    reason = _why(current, spec, authority=authority, key=key, now=now)
    if current is not None and not reason:
        return Leaf(certificate=current, reason="")
    certificate = _signed(authority, key, spec, now=now)
    if write:
        path.parent.mkdir(mode=0o755, exist_ok=True)
        write_file(path, to_pem(certificate).encode(), mode=0o644)
    return Leaf(certificate=certificate, reason=reason)


def _why(
    current: x509.Certificate | None,
    spec: LeafSpec,
    *,
    authority: Authority,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
) -> str:
    if current is None:
        return "new"
    faults = {
        "another key": not same_key(current, key),
        "another authority": not issued_by(current, authority.certificate),
        "other names": set(_extension(current, x509.SubjectAlternativeName)) != set(spec.alternative_names),
        "another usage": set(_extension(current, x509.ExtendedKeyUsage)) != set(_EXTENDED[spec.usage]),
        "another life": current.not_valid_after_utc - current.not_valid_before_utc != spec.life + BACKDATE,
        "close to its end": current.not_valid_after_utc - now < spec.renew_before,
    }
    return next((reason for reason, found in faults.items() if found), "")


def _signed(
    authority: Authority, key: ec.EllipticCurvePrivateKey, spec: LeafSpec, *, now: datetime
) -> x509.Certificate:
    issuer = authority.certificate
    public = key.public_key()
    identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, spec.user[:64])]))
        .issuer_name(issuer.subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATE)
        .not_valid_after(now + spec.life)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        # Not critical, although RFC 5280, 4.2.1.3 recommends it: libvirt 9.0 and QEMU 7.2, of Debian 12, refuse a
        # critical one without key encipherment, which an elliptic-curve key cannot have.
        .add_extension(key_usage(sign_certificates=False), critical=False)
        .add_extension(x509.ExtendedKeyUsage(_EXTENDED[spec.usage]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
    )
    if spec.names:  # an empty list is not allowed (RFC 5280, 4.2.1.6)
        builder = builder.add_extension(x509.SubjectAlternativeName(spec.alternative_names), critical=False)
    return builder.sign(authority.key, hashes.SHA256())


def _extension(
    certificate: x509.Certificate, kind: type[x509.SubjectAlternativeName | x509.ExtendedKeyUsage]
) -> list[object]:
    try:
        return list(certificate.extensions.get_extension_for_class(kind).value)
    except x509.ExtensionNotFound:
        return []


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
