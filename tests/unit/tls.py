"""A certificate of an address that is its own authority, and servers that show it."""

from __future__ import annotations

import datetime
import http.server
import ipaddress
import ssl
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, in PEM."""

    certificate: str
    key: str

    def shown_by(self, server: http.server.HTTPServer, directory: Path) -> None:
        """Have ``server`` speak TLS only."""
        file = directory / f"{server.server_port}.pem"
        file.write_text(self.certificate + self.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that does not believe it hangs up
        # Handshakes in the threads of the connections, as web servers do.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)


def pair(
    *,
    days: float = 365,
    begins: float = -1,
    address: str = "127.0.0.1",
    names: Iterable[str] = (),
    signed_by: Pair | None = None,
) -> Pair:
    """Return a new certificate that ends in ``days`` days: its own authority, or ``signed_by`` another.

    It ``begins`` in so many days; later than now, whoever made it lives in another time.

    With ``names`` it is theirs, and not the address's.
    """
    subjects: list[x509.GeneralName] = [x509.DNSName(one) for one in names]
    subjects = subjects or [x509.IPAddress(ipaddress.ip_address(address))]
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    signer = serialization.load_pem_private_key(signed_by.key.encode(), None) if signed_by else key
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "signed")]) if signed_by else name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + datetime.timedelta(days=begins))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName(subjects), critical=False)
        .add_extension(x509.BasicConstraints(ca=not signed_by, path_length=None), critical=True)
        .sign(signer, hashes.SHA256())
    )
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Pair(certificate.public_bytes(serialization.Encoding.PEM).decode(), text.decode())


@contextmanager
def serving(server: http.server.HTTPServer) -> Iterator[int]:
    """Have ``server`` serve inside the block; give its port."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
