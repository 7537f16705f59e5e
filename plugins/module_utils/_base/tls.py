"""TLS connections with a client's certificate from memory."""

from __future__ import annotations

import os
import ssl
import tempfile
from pathlib import Path


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
