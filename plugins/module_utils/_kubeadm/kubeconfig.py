"""The admin kubeconfig, read without a YAML library: kubeadm writes one cluster and one user, with the data inside."""

from __future__ import annotations

import base64
import os
import re
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .api import Api
from .certificates import fingerprint, first_certificate

FIELD = r"^\s*{}:\s*(\S+)\s*$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What a kubeconfig says. Holds a private key: ``repr`` shows the server alone."""

    server: str
    ca: str  # PEM
    certificate: str  # PEM
    key: str  # PEM

    def __repr__(self) -> str:
        """Return the server alone."""
        return f"Access(server={self.server!r})"

    @property
    def ca_fingerprint(self) -> str:
        """Return the SHA-256 of the CA certificate: the cluster's identity."""
        return fingerprint(first_certificate(self.ca) or b"")

    def connect(self, *, server: str | None = None, timeout: float = 10.0) -> Api:
        """Return a connection to ``server`` (https URL; the kubeconfig's own); ``timeout`` of a request in seconds."""
        context = ssl.create_default_context(cadata=self.ca)
        # The ssl module takes a client's key only from a file: one that nobody else can read and that is gone at once.
        handle, name = tempfile.mkstemp(prefix="groundup-")
        try:
            with os.fdopen(handle, "w", encoding="ascii") as stream:
                stream.write(self.certificate + self.key)
            context.load_cert_chain(name)
        finally:
            Path(name).unlink()
        return Api(server or self.server, context=context, timeout=timeout)


def parse(text: str) -> Access:
    """Return the access the ``text`` of a kubeconfig gives. Raises ValueError, with nothing of the text in it."""
    ca = _decoded(text, "certificate-authority-data")
    if first_certificate(ca) is None:
        raise ValueError("no CA certificate")
    return Access(
        server=_field(text, "server").strip("\"'"),
        ca=ca,
        certificate=_decoded(text, "client-certificate-data"),
        key=_decoded(text, "client-key-data"),
    )


def _field(text: str, name: str) -> str:
    found = re.search(FIELD.format(name), text, re.MULTILINE)
    if found is None:
        raise ValueError(f"no {name}")
    return found.group(1)


def _decoded(text: str, name: str) -> str:
    try:
        return base64.b64decode(_field(text, name), validate=True).decode("ascii")
    except UnicodeDecodeError:
        raise ValueError(f"{name} is not PEM") from None
