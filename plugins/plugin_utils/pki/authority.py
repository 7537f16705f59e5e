"""The site's certificate authorities (CA), one a use: a key for the site's life, a certificate renewed in time.

What only its own members may join has an authority of its own: a certificate of the site's CA opens nothing there.

A renewed CA keeps its key and subject, so certificates issued before stay valid on hosts that trust the new one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ...module_utils._base.files import write_file
from ..errors import GroundupError
from ..layers import authorities
from ..layers.authorities import Use
from ..vault import Store

LIFETIME = timedelta(days=3650)
RENEW_BEFORE = timedelta(days=800)  # the longest life of a leaf, so that none outlives its CA
BACKDATE = timedelta(days=1)  # a host whose clock is slow must accept a new certificate


class PkiError(GroundupError):
    """A certificate or its key cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """The CA, ready to sign."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False)
    reason: str  # why the certificate was written now; empty: it existed

    @property
    def pem(self) -> str:
        """Return the public certificate in PEM."""
        return to_pem(self.certificate)


def ensure_authority(
    store: Store, directory: Path, *, site: str, use: Use = "site", now: datetime | None = None, write: bool = True
) -> Authority:
    """Return the CA of ``site`` for ``use``, created or renewed when needed; its certificate is in ``directory``.

    ``write=False`` is a dry run; the store must be opened without write too. Raises PkiError, SecretsError, OSError.
    """
    now = now or datetime.now(UTC)
    key = ensure_key(store, authorities.key_name(use))
    path = directory / authorities.file(use)
    current = read_certificate(path)
    if current is not None and not same_key(current, key):
        raise PkiError(
            f"the certificate of the {use} CA does not belong to its key in the secrets store",
            where=str(path),
            why="certificates signed with that key would not be trusted by the hosts",
            remedy=f"restore the secrets store that belongs to it, or remove {path} to have it written again",
        )
    if current is not None and current.not_valid_after_utc - now > RENEW_BEFORE:
        return Authority(certificate=current, key=key, reason="")
    certificate = _self_signed(key, name=f"{site} {use} CA", now=now)
    if write:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        write_file(path, to_pem(certificate).encode(), mode=0o644)
    return Authority(certificate=certificate, key=key, reason="new" if current is None else "close to its end")


def _self_signed(key: ec.EllipticCurvePrivateKey, *, name: str, now: datetime) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
    public = key.public_key()
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATE)
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(sign_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False)
        .sign(key, hashes.SHA256())
    )


def key_usage(*, sign_certificates: bool) -> x509.KeyUsage:
    """Return the key usage of a CA, or of a TLS server or client with an elliptic-curve key (RFC 5280, 4.2.1.3)."""
    return x509.KeyUsage(
        digital_signature=not sign_certificates,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def ensure_key(store: Store, name: str) -> ec.EllipticCurvePrivateKey:
    """Return the private key stored as ``name``; generate it if missing. Raises PkiError, SecretsError."""
    store.ensure([name])
    try:
        key = serialization.load_pem_private_key(store.get(name).encode(), password=None)
    except (ValueError, TypeError):
        key = None  # not chained: the parser's error may quote the key
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key
    raise PkiError(
        f"{name} in the secrets store is not an elliptic-curve private key",
        where=str(store.path),
        why="the site's certificates are signed with it",
        remedy="restore the store from your backup",
    )


def read_certificate(path: Path) -> x509.Certificate | None:
    """Return the certificate in the PEM file ``path``, None if the file is missing. Raises PkiError."""
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise PkiError(
            f"not a certificate: {error}",
            where=str(path),
            why="the hosts and the edge are given what is in this file",
            remedy=f"remove {path}; the next run writes it again",
        ) from None


def same_key(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> bool:
    """Return whether ``certificate`` is for ``key``."""
    return certificate.public_key() == key.public_key()


def to_pem(certificate: x509.Certificate) -> str:
    """Return ``certificate`` in PEM."""
    return certificate.public_bytes(serialization.Encoding.PEM).decode("ascii")
