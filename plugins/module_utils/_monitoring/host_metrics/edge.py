"""Which virtual IPs this control host has. A keepalived that hangs keeps the one that another host takes."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path

from .samples import Sample

KEEPALIVED = "keepalived.service"
CONFIGURATION = Path("/etc/keepalived/keepalived.conf")
_ADDRESS = re.compile(r"virtual_ipaddress \{\s+([\d.]+)/")


def addresses() -> Iterator[Sample]:
    """Yield whether the address of each instance of keepalived is on this host."""
    text = CONFIGURATION.read_text(encoding="utf-8") if CONFIGURATION.exists() else ""
    for address in _ADDRESS.findall(text):
        yield Sample("groundup_virtual_ip", _is_here(address), {"address": address})


def _is_here(address: str) -> bool:
    """Return whether Linux would send to ``address`` from itself; it may be bound everywhere (ip_nonlocal_bind)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        try:
            way.connect((address, 9))  # sends nothing
        except OSError:  # no way there
            return False
        return bool(way.getsockname()[0] == address)
