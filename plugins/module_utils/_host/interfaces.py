"""Find a host's network interfaces by their addresses: the site file need not name them."""

from __future__ import annotations

import json

from .._base.errors import GroundupError
from .._base.run import run


def carrying(address: str) -> str | None:
    """Return the name of the interface of this host that has ``address``, None when none has."""
    links = json.loads(run(["ip", "-json", "address", "show"]))
    return next(
        (link["ifname"] for link in links for entry in link.get("addr_info", []) if entry.get("local") == address), None
    )


def interface_of(address: str) -> str:
    """Return the name of the interface of this host that has ``address``. Raises GroundupError."""
    if (name := carrying(address)) is None:
        raise GroundupError(
            f"no interface of this host has the address {address}",
            where="ip address show",
            why="what the site runs on that network needs its interface, which is found by the planned address",
            remedy=f"give the host {address}, or write the address it has into the site file",
        )
    return name
