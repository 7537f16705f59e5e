"""TLS connections with a client's certificate from memory, and a server's certificate with its key."""

from __future__ import annotations

import os
import ssl
import tempfile
import time
from pathlib import Path

from .errors import GroundupError
from .run import run


def client_context(*, ca: str, certificate: str = "", key: str = "") -> ssl.SSLContext:
    """Return what a connection needs that trusts ``ca`` and shows ``certificate``, all in PEM.

    Raises ssl.SSLError for a key that is not the certificate's.
    """
    context = ssl.create_default_context(cadata=ca)
    if certificate:
        # The ssl module takes a client's key only from a file: one that nobody else can read, and gone at once.
        handle, name = tempfile.mkstemp(prefix="groundup-")
        try:
            with os.fdopen(handle, "w", encoding="ascii") as stream:
                stream.write(certificate + key)
            context.load_cert_chain(name)
        finally:
            Path(name).unlink()
    return context


def with_key(certificate: str, key: str) -> str:
    """Return the content of a server's file: its certificate, then its key."""
    return f"{certificate.rstrip()}\n{key.rstrip()}\n"


def check_pair(path: Path, *, user: str, key: Path | None = None) -> None:
    """Refuse a file of ``user`` whose certificate and key are no pair: its server would not start again at a boot.

    The ``key`` is in ``path``, too, unless it has a file of its own.
    """
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(path, key)
    except ssl.SSLError as error:
        raise GroundupError(
            f"certificate and key of {user} are no pair: {error}",
            where=f"the site's state directory on the controller: pki/{user}.crt; secret pki/{user}-key",
            why="the host would serve nothing with TLS after its next boot; the old pair is still in use",
            remedy=f"remove pki/{user}.crt there and run groundup.cloud.secrets: it makes one for the stored key",
        ) from error


def days_left(path: Path, *, why: str, remedy: str) -> int:
    """Return the whole days until the certificate in ``path`` ends, negative when it has. Raises GroundupError."""
    said = run(["openssl", "x509", "-in", str(path), "-noout", "-enddate"], why=why, remedy=remedy)
    return int((ssl.cert_time_to_seconds(said.partition("notAfter=")[2].strip()) - time.time()) // 86400)
