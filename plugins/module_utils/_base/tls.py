"""TLS: client connections from certificates in memory, and checks of a server's certificate and key."""

from __future__ import annotations

import os
import re
import ssl
import tempfile
import time
from pathlib import Path

from .errors import GroundupError
from .run import run

PEM = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def certificates(text: str) -> list[str]:
    """Return the certificates (PEM) in ``text``."""
    return PEM.findall(text)


def client_context(*, ca: str, certificate: str = "", key: str = "") -> ssl.SSLContext:
    """Return a context that trusts ``ca`` and presents ``certificate``. Raises ssl.SSLError for a wrong ``key``."""
    context = ssl.create_default_context(cadata=ca)
    if certificate:
        # The ssl module reads a client's key only from a file: use a private one, and remove it at once.
        handle, name = tempfile.mkstemp(prefix="groundup-")
        try:
            with os.fdopen(handle, "w", encoding="ascii") as stream:
                stream.write(certificate + key)
            context.load_cert_chain(name)
        finally:
            Path(name).unlink()
    return context


def with_key(certificate: str, key: str) -> str:
    """Return a server's PEM file: its certificate, then its key."""
    return f"{certificate.rstrip()}\n{key.rstrip()}\n"


def check_pair(path: Path, *, user: str, key: Path | None = None) -> None:
    """Refuse a certificate and key of ``user`` that do not match: the server could not start after a reboot.

    The ``key`` is in ``path``, too, unless it has its own file. Raises GroundupError.
    """
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(path, key)
    except ssl.SSLError as error:
        raise GroundupError(
            f"certificate and key of {user} are no pair: {error}",
            where=f"the site's state directory on the control node: pki/{user}.crt; secret pki/{user}-key",
            why="the host would serve nothing with TLS after its next boot; the old pair is still in use",
            remedy=f"remove pki/{user}.crt there and run groundup.cloud.secrets: it makes one for the stored key",
        ) from error


def days_left(path: Path, *, why: str, remedy: str) -> int:
    """Return the full days until the certificate in ``path`` expires, negative after that. Raises GroundupError."""
    return int((end(path, why=why, remedy=remedy) - time.time()) // 86400)


def end(path: Path, *, why: str, remedy: str) -> int:
    """Return when the first certificate in ``path`` expires, in seconds since 1970. Raises GroundupError."""
    said = run(["openssl", "x509", "-in", str(path), "-noout", "-enddate"], why=why, remedy=remedy)
    return ssl.cert_time_to_seconds(said.partition("notAfter=")[2].strip())
