"""The admin kubeconfig of a site: where it is, what it says, and a connection made from it."""

from __future__ import annotations

import base64
import binascii
import os
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ...module_utils._kubeadm.api import Api
from ...module_utils._kubeadm.certificates import fingerprint, first_certificate, pem_of
from ..errors import GroundupError
from ..files import write_atomic
from ..paths import state_dir


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What the kubeconfig says. Holds a private key: ``repr`` shows the server alone."""

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

    def connect(self, *, timeout: float = 10.0) -> Api:
        """Return a connection; ``timeout`` in seconds is that of one request."""
        context = ssl.create_default_context(cadata=self.ca)
        # The ssl module takes a client's key only from a file: one that nobody else can read and that is gone at once.
        handle, name = tempfile.mkstemp(prefix="groundup-")
        try:
            with os.fdopen(handle, "w", encoding="ascii") as stream:
                stream.write(self.certificate + self.key)
            context.load_cert_chain(name)
        finally:
            Path(name).unlink()
        return Api(self.server, context=context, timeout=timeout)


def kubeconfig_path(site: str) -> Path:
    """Return where the admin kubeconfig of ``site`` is on the controller."""
    return state_dir(site) / "kubeconfig"


def keep(site: str, content: str) -> bool:
    """Write the kubeconfig of ``site`` (mode 0600) when it differs; return whether it did. Raises OSError."""
    path = kubeconfig_path(site)
    if path.exists() and path.read_text(encoding="utf-8") == content and path.stat().st_mode & 0o777 == 0o600:
        return False
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_atomic(path, content.encode(), mode=0o600)
    return True


def differs(site: str, content: str) -> bool:
    """Say whether :func:`keep` would write."""
    path = kubeconfig_path(site)
    return not path.exists() or path.read_text(encoding="utf-8") != content


def load(site: str) -> Access | None:
    """Return the access to the cluster of ``site``, None before there is a cluster.

    Raises:
        GroundupError: the kubeconfig is damaged.
    """
    path = kubeconfig_path(site)
    try:
        return parse(yaml.safe_load(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (yaml.YAMLError, KeyError, IndexError, TypeError, ValueError, binascii.Error) as error:
        raise GroundupError(
            f"the admin kubeconfig of site {site} is damaged ({type(error).__name__})",
            where=str(path),
            why="without it the controller cannot tell this cluster from another",
            remedy="move it away and run the playbook groundup.cloud.kubernetes: a control host gives a new one",
        ) from error


def parse(document: Mapping[str, Any]) -> Access:
    """Return the access a kubeconfig's ``document`` gives. Raises KeyError, IndexError, TypeError, ValueError."""
    cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
    ca = pem_of(cluster["certificate-authority-data"])
    if first_certificate(ca) is None:
        raise ValueError("no CA certificate")
    return Access(
        server=cluster["server"],
        ca=ca,
        certificate=base64.b64decode(user["client-certificate-data"], validate=True).decode("ascii"),
        key=base64.b64decode(user["client-key-data"], validate=True).decode("ascii"),
    )
