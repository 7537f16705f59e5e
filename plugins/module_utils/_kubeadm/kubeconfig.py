"""Kubeconfigs as kubeadm writes them: one cluster and one user, with the data inside."""

from __future__ import annotations

import base64
import binascii
from typing import Any
from urllib.parse import urlsplit

from .._base import yaml_text
from .._base.tls import client_context
from .api import NodeApi


def connect(text: str, *, server: str) -> NodeApi:
    """Return a connection to ``server`` (https URL) with the rights the ``text`` of a kubeconfig gives.

    Raises ValueError or OSError for a damaged one, with nothing of the text in it.
    """
    user = _first(text, "users", "user")
    ca = decoded(cluster_of(text), "certificate-authority-data")
    certificate, key = (decoded(user, f"client-{name}-data") for name in ("certificate", "key"))
    if not (ca and certificate and key):
        raise ValueError("it holds no CA, no certificate or no key")
    return NodeApi(server, context=client_context(ca=ca, certificate=certificate, key=key))


def cluster_of(text: str) -> dict[str, Any]:
    """Return what a kubeconfig says of its cluster, empty when it says nothing."""
    return _first(text, "clusters", "cluster")


def server_of(text: str) -> tuple[str, int] | None:
    """Return host and port of the API a kubeconfig names, or None."""
    url = urlsplit(str(cluster_of(text).get("server", "")))
    return (url.hostname, url.port or 443) if url.hostname else None


def with_server(text: str, server: str) -> str:
    """Return a kubeconfig with another ``server`` (an https URL) in it."""
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
    """Return the text behind a base64 field, empty when there is none."""
    try:
        return base64.b64decode(str(found.get(name, "")), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return ""
