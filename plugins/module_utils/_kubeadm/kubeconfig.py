"""Read kubeconfigs as kubeadm writes them: one cluster and one user, with embedded data."""

from __future__ import annotations

import base64
import binascii
from typing import Any
from urllib.parse import urlsplit

from .._base import yaml_text
from .._base.tls import client_context
from .api import NodeApi


def connect(text: str, *, server: str) -> NodeApi:
    """Return a connection to ``server`` (https URL) with the credentials in ``text``, a kubeconfig.

    Raises ValueError or OSError for a damaged one; the error holds nothing of the text.
    """
    user = _first(text, "users", "user")
    ca = decoded(cluster_of(text), "certificate-authority-data")
    certificate, key = (decoded(user, f"client-{name}-data") for name in ("certificate", "key"))
    if not (ca and certificate and key):
        raise ValueError("it holds no CA, no certificate or no key")
    return NodeApi(server, context=client_context(ca=ca, certificate=certificate, key=key))


def cluster_of(text: str) -> dict[str, Any]:
    """Return the cluster entry of a kubeconfig; empty without one."""
    return _first(text, "clusters", "cluster")


def server_of(text: str) -> tuple[str, int] | None:
    """Return host and port of the API in a kubeconfig, or None."""
    url = urlsplit(str(cluster_of(text).get("server", "")))
    return (url.hostname, url.port or 443) if url.hostname else None


def with_server(text: str, server: str) -> str:
    """Return the kubeconfig with ``server`` (an https URL) in it."""
    document = yaml_text.load(text)
    document["clusters"][0]["cluster"]["server"] = server
    return yaml_text.dump(document)


def _first(text: str, entries: str, name: str) -> dict[str, Any]:
    try:
        found = yaml_text.load(text)[entries][0][name]
    except (KeyError, IndexError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}


def decoded(found: dict[str, Any], name: str) -> str:
    """Return the decoded text of a base64 field; empty when missing or invalid."""
    try:
        return base64.b64decode(str(found.get(name, "")), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return ""
