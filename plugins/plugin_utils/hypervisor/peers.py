"""Who copies disks of instances to whom by Nova's ssh, and by what key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..layers.ports import PORTS


def peers(name: str, addresses: Mapping[str, str], *, key: str) -> dict[str, Any]:
    """Return the module's option for hypervisor ``name``. ``addresses``: Nova calls hosts by their ``my_ip``."""
    return {
        "address": addresses[name],
        "port": PORTS["nova-ssh"].port,
        "hosts": dict(addresses),
        "public_key": _public(key),
    }


def _public(key: str) -> str:
    """Return the public half of a key in PEM, as OpenSSH writes it."""
    from cryptography.hazmat.primitives import serialization

    public = serialization.load_pem_private_key(key.encode("ascii"), password=None).public_key()
    shown = public.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return shown.decode("ascii")
