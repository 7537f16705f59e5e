"""The operator's own certificate of the public names, and its key, which is a given secret."""

from __future__ import annotations

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from ..vault.given import giving
from ..vault.names import EDGE_KEY
from .authority import PkiError

_FORM = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def belongs(certificate: str, key: str) -> bool:
    """Return whether ``key`` (PEM) is that of the leaf of ``certificate``."""
    try:
        check_key(certificate, key)
    except PkiError:
        return False
    return True


def check_key(certificate: str, key: object) -> None:
    """Refuse ``key`` (PEM) unless it belongs to the leaf of ``certificate``. Raises PkiError."""
    if not isinstance(key, str):
        raise _refused(f"{EDGE_KEY} is no text", "HAProxy serves no certificate without its key")
    try:
        private = serialization.load_pem_private_key(key.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        # Not chained and not quoted: the parser's error may show the key.
        locked = isinstance(error, TypeError) or "ENCRYPTED" in key
        raise _refused(
            f"{EDGE_KEY} has a passphrase" if locked else f"{EDGE_KEY} is no private key in PEM",
            "HAProxy on a host starts without a person",
            "openssl pkey -in KEY -out NEW writes one without a passphrase; then " if locked else "",
        ) from None
    leaf = x509.load_pem_x509_certificate(certificate.encode())
    if private.public_key().public_bytes(*_FORM) != leaf.public_key().public_bytes(*_FORM):
        raise _refused(
            f"{EDGE_KEY} does not belong to the certificate {leaf.subject.rfc4514_string()}",
            "HAProxy would not start with the two; nothing was changed",
        )


def _refused(what: str, why: str, remedy: str = "") -> PkiError:
    return PkiError(
        what,
        where=f"edge.certificate of the site file; secret {EDGE_KEY}",
        why=why,
        remedy=f"{remedy}ansible-playbook -i <site file> groundup.cloud.certificate -e edge_key_file=FILE, "
        f"with the key of the certificate in that file; before a site's first run: {giving({EDGE_KEY: '...'})}",
    )
