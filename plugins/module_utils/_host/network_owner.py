"""Which program runs a host's network, other than systemd-networkd. Python 3.9: preflight asks, too."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

INTERFACES, NETPLAN = "/etc/network/interfaces", "/etc/netplan"
WHY = "two owners of one network take it from each other, at the latest at the next boot"
NETWORK_MANAGER = ("systemctl", "is-active", "NetworkManager.service")
RUNS = ("active", "activating", "reloading", "refreshing")  # what that prints of a unit that runs, or is about to
_STANZA = re.compile(r"^\s*iface\s+(\S+)", re.MULTILINE)


def owner(read: Callable[[str], str], names: Callable[[str], Sequence[str]], *, active: str) -> tuple[str, str]:
    """Return the program and how to take the network from it; two empty texts when nobody has it.

    ``read``: text of a file, empty when missing. ``names``: names in a directory. ``active``: what `NETWORK_MANAGER`
    printed.
    """
    if active.strip() in RUNS:
        return "NetworkManager", "systemctl disable --now NetworkManager, which leaves addresses as they are"
    if files := [name for name in names(NETPLAN) if name.endswith(".yaml")]:
        return f"netplan ({NETPLAN}/{files[0]})", f"move {NETPLAN}/{files[0]} away"
    parts = [INTERFACES, *(f"{INTERFACES}.d/{name}" for name in names(f"{INTERFACES}.d"))]
    if stanzas := {name for path in parts for name in _STANZA.findall(read(path))} - {"lo"}:
        return (
            f"ifupdown ({INTERFACES}: {', '.join(sorted(stanzas))})",
            f"comment out all but lo in {INTERFACES} and its directory, which changes nothing until a restart",
        )
    return "", ""
