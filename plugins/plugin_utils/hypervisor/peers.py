"""Hosts and key of Nova's ssh, by which hypervisors copy disks of instances to each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..layers.ports import PORTS


def peers(name: str, addresses: Mapping[str, str], *, key: str) -> dict[str, Any]:
    """Return the module's option for hypervisor ``name``. ``addresses``: each host's ``my_ip``, which Nova uses."""
    return {
        "address": addresses[name],
        "port": PORTS["nova-ssh"].port,
        "hosts": dict(addresses),
        "public_key": _public(key),
    }


def _public(key: str) -> str:
    """Return the public half of a PEM key in OpenSSH's format."""
    from cryptography.hazmat.primitives import serialization

    public = serialization.load_pem_private_key(key.encode("ascii"), password=None).public_key()
    shown = public.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return shown.decode("ascii")
