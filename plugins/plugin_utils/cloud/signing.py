"""Sign an image as a tenant does: by a key of this moment, whose certificate Barbican keeps."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.x509.oid import NameOID

from .resources.api import CloudApi

if TYPE_CHECKING:
    from openstack.connection import Connection

_LIFE = datetime.timedelta(days=1)  # Barbican then forgets what a killed run left
CERTIFICATE = "img_signature_certificate_uuid"


def sign(cloud: Connection, image: Path, *, name: str, readers: Iterable[str] = ()) -> dict[str, str]:
    """Return the properties that make ``image`` a signed one. ``readers``: users of other projects who may start it."""
    key, digest = ec.generate_private_key(ec.SECP384R1()), hashes.Hash(hashes.SHA256())
    with image.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    signature = key.sign(digest.finalize(), ec.ECDSA(Prehashed(hashes.SHA256())))
    return {
        "img_signature": base64.b64encode(signature).decode(),
        "img_signature_hash_method": "SHA-256",
        "img_signature_key_type": "ECC_SECP384R1",
        CERTIFICATE: _keep(CloudApi(cloud), _certificate(key, name), name=name, readers=list(readers)),
    }


def forget(cloud: Connection, properties: dict[str, str]) -> None:
    """Delete the certificate of a signed image."""
    CloudApi(cloud).call("key_manager", "DELETE", f"/secrets/{properties[CERTIFICATE]}", absent=True)


def _certificate(key: ec.EllipticCurvePrivateKey, name: str) -> bytes:
    who, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder(
        issuer_name=who, subject_name=who, public_key=key.public_key(), serial_number=x509.random_serial_number(),
        not_valid_before=now - _LIFE, not_valid_after=now + _LIFE,
    )  # fmt: skip
    return made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _keep(api: CloudApi, certificate: bytes, *, name: str, readers: list[str]) -> str:
    """Store a certificate; return its id."""
    secret = {
        "name": name, "secret_type": "certificate", "payload": base64.b64encode(certificate).decode(),
        "payload_content_type": "application/octet-stream", "payload_content_encoding": "base64",
        "expiration": (datetime.datetime.now(datetime.UTC) + _LIFE).strftime("%Y-%m-%dT%H:%M:%S"),
    }  # fmt: skip
    made = str(api.call("key_manager", "POST", "/secrets", secret)["secret_ref"]).rpartition("/")[2]
    if readers:
        readable = {"read": {"users": readers, "project-access": True}}
        api.call("key_manager", "PUT", f"/secrets/{made}/acl", readable)
    return made
