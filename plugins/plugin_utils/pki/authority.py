"""The site's certificate authorities (CA), one a use, with a certificate renewed in time.

What only its own members may join has an authority of its own: a certificate of the site's CA opens nothing there.

A renewed CA keeps its key and subject, so certificates issued before stay valid on hosts that trust the new one. While
a CA is rotated (`succession`), its file holds two certificates, and so does every reader: the first one signs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ...module_utils._base.files import write_file
from ..errors import GroundupError
from ..layers import authorities
from ..layers.authorities import Use
from ..vault import Store
from ..vault.rotation import NEXT

LIFETIME = timedelta(days=3650)
RENEW_BEFORE = timedelta(days=800)  # the longest life of a leaf, so that none outlives its CA
_NAME = 55  # characters of an authority's name beside its key's identifier
BACKDATE = timedelta(days=1)  # a host whose clock is slow must accept a new certificate


class PkiError(GroundupError):
    """A certificate or its key cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """The CA, ready to sign."""

    certificate: x509.Certificate  # that signs
    key: ec.EllipticCurvePrivateKey = field(repr=False)
    reason: str  # why the file was written now; empty: it existed
    others: tuple[x509.Certificate, ...] = ()  # trusted beside it while it is rotated: its successor or predecessor

    @property
    def pem(self) -> str:
        """Return the public certificates in PEM, the one that signs first."""
        return "".join(map(to_pem, (self.certificate, *self.others)))


def ensure_authority(
    store: Store, directory: Path, *, site: str, use: Use = "site", now: datetime | None = None, write: bool = True
) -> Authority:
    """Return the CA of ``site`` for ``use``, created or renewed when needed; its certificate is in ``directory``.

    ``write=False`` is a dry run; the store must be opened without write too. Raises PkiError, SecretsError, OSError.
    """
    now = now or datetime.now(UTC)
    key, following = ensure_key(store, authorities.key_name(use)), successor(store, use)
    path = directory / authorities.file(use)
    found = read_certificates(path)
    current = next((one for one in found if same_key(one, key)), None)
    if found and current is None:
        raise PkiError(
            f"the certificate of the {use} CA does not belong to its key in the secrets store",
            where=str(path),
            why="certificates signed with that key would not be trusted by the hosts",
            remedy=f"restore the secrets store that belongs to it, or remove {path} to have it written again",
        )
    others = [one for one in found if one is not current]
    if following is not None and not any(same_key(one, following) for one in others):
        others.append(_self_signed(following, subject=_distinct(following, f"{site} {use} CA"), now=now))
    reason = _why(found, current, others, now=now)
    if current is None or current.not_valid_after_utc - now <= RENEW_BEFORE:
        subject = current.subject if current else _named(f"{site} {use} CA")
        current = _self_signed(key, subject=subject, now=now)
    made = Authority(certificate=current, key=key, reason=reason, others=tuple(others))
    if reason and write:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        write_file(path, made.pem.encode(), mode=0o644)
    return made


def successor(store: Store, use: Use) -> ec.EllipticCurvePrivateKey | None:
    """Return the key of the authority that follows that of ``use``; None while it is not rotated. Raises PkiError."""
    name = authorities.key_name(use) + NEXT
    return ensure_key(store, name) if name in store.names() else None


def _why(
    found: Sequence[x509.Certificate],
    current: x509.Certificate | None,
    others: Sequence[x509.Certificate],
    *,
    now: datetime,
) -> str:
    if current is None:
        return "new"
    if current.not_valid_after_utc - now <= RENEW_BEFORE:
        return "close to its end"
    if len(others) == len(found):
        return "its successor beside it"
    return "another one signs" if found[0] is not current else ""


def named_for(certificate: x509.Certificate, site: str) -> bool:
    """Return whether ``certificate`` is by its name one of the ``site``'s authorities, of now or of before."""
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    ours = tuple(f"{site} {use} CA"[:_NAME] for use in authorities.USES)
    return bool(names) and str(names[0].value).startswith(ours) and certificate.subject == certificate.issuer


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])


def _distinct(key: ec.EllipticCurvePrivateKey, name: str) -> x509.Name:
    """Return ``name`` with the key's identifier: some programs look for an issuer by its subject alone."""
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key()).digest.hex()[:8]
    return _named(f"{name[:_NAME]} {identifier}")


def _self_signed(key: ec.EllipticCurvePrivateKey, *, subject: x509.Name, now: datetime) -> x509.Certificate:
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
    """Return the first certificate in the PEM file ``path``, None if the file is missing. Raises PkiError."""
    return next(iter(read_certificates(path)), None)


def read_certificates(path: Path) -> list[x509.Certificate]:
    """Return the certificates in the PEM file ``path``, none if the file is missing. Raises PkiError."""
    try:
        return x509.load_pem_x509_certificates(path.read_bytes())
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise PkiError(
            f"not a certificate: {error}",
            where=str(path),
            why="the hosts and the edge are given what is in this file",
            remedy=f"remove {path}; the next run writes it again",
        ) from None


def same_key(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> bool:
    return certificate.public_key() == key.public_key()


def issued_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Return whether ``issuer`` has signed ``certificate``."""
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def to_pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode("ascii")
