"""Authorities and certificates as companies have them, sound or with one mistake."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

NOW = datetime.now(UTC).replace(microsecond=0)


@dataclass(frozen=True)
class Issued:
    """A certificate with its key."""

    certificate: x509.Certificate
    private: CertificateIssuerPrivateKeyTypes

    @property
    def pem(self) -> str:
        """Return the certificate in PEM."""
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    @property
    def der(self) -> bytes:
        """Return the certificate in DER."""
        return self.certificate.public_bytes(serialization.Encoding.DER)

    @property
    def key(self) -> str:
        """Return the key in PEM."""
        plain = serialization.NoEncryption()
        return self.private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain).decode()


def issue(
    name: str, signer: Issued | None = None, *, ca: bool = False, names: Iterable[str] = (), days: float = 365,
    begins: float = -1, private: CertificateIssuerPrivateKeyTypes | None = None, client: bool = False,
    strict: bool = True, constrained: bool = True, organization: str = "",
) -> Issued:  # fmt: skip
    """Return a certificate of ``name``, signed by ``signer`` or itself; ``strict``: with what Python 3.13 asks for.

    Without ``constrained`` it says neither that it is a CA's nor that it is none.
    """
    private = private or ec.generate_private_key(ec.SECP256R1())
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)] if organization else []
    subject = x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, name)])
    public = private.public_key()
    above = signer.certificate if signer else None
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(above.subject if above else subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW + timedelta(days=begins))
        .not_valid_after(NOW + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )
    if constrained:
        builder = builder.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    if strict:
        key = signer.private.public_key() if signer else public
        builder = builder.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key), critical=False)
    if ca and strict:
        usage = dict.fromkeys(("content_commitment", "data_encipherment", "key_agreement"), False)
        usage |= dict.fromkeys(("encipher_only", "decipher_only", "digital_signature", "key_encipherment"), False)
        builder = builder.add_extension(x509.KeyUsage(key_cert_sign=True, crl_sign=True, **usage), critical=True)
    if client:
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
    if found := [_general(one) for one in names]:
        builder = builder.add_extension(x509.SubjectAlternativeName(found), critical=False)
    signing = signer.private if signer else private
    digest = None if isinstance(signing, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return Issued(builder.sign(signing, digest), private)


def weak() -> rsa.RSAPrivateKey:
    """Return a key that OpenSSL refuses."""
    return rsa.generate_private_key(65537, 1024)  # noqa: S505  # on purpose


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
