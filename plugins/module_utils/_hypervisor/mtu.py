"""Prove the MTU of the tunnels' network with a packet of the planned size to the next hypervisor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.wait import wait_until
from .._host.probe import SMALL, Echo

PATIENCE = 20.0  # seconds: in a first run the neighbour's address may just move to a bridge


def prove(changes: Changes, underlay: Mapping[str, Any], *, host: str, echo: Callable[[str], Echo] = Echo) -> None:
    """Refuse an underlay that passes small packets and loses full ones; warn when the neighbour does not answer.

    ``underlay`` is empty for the only hypervisor; ``echo``: another one for tests only. Raises GroundupError.
    """
    if not underlay or ":" in underlay["source"]:  # the probe supports IPv4 only
        return
    neighbour, mtu, name = underlay["neighbour"], int(underlay["mtu"]), underlay["name"]
    probe = echo(underlay["source"])
    try:
        why = wait_until(lambda: probe.lost([neighbour], size=mtu).get(neighbour, ""), timeout=PATIENCE)
        silent = probe.lost([neighbour], size=SMALL) if why else {}
        if why and not silent:  # again: its address may have come up between the two probes
            why = probe.lost([neighbour], size=mtu).get(neighbour, "")
    except OSError as error:
        why, silent = "", {neighbour: str(error.strerror)}
    if silent:
        changes.warnings.append(
            f"the MTU of the tunnels' network is not proven on {host}: {name} ({neighbour}) does not answer small "
            f"packets either ({silent[neighbour]})"
        )
    elif why:
        raise GroundupError(
            f"a packet of {mtu} bytes to {name} is lost, a small one arrives: {why}",
            where=f"{host}, {underlay['source']} to {neighbour}, the network that tunnels cross",
            why="guests would connect, and hang with their first large packet",
            remedy=f"raise the MTU of the interfaces and switches between them to {mtu}, or write what they carry into "
            "networks.<tunnel network>.mtu of the site file; by hand: "
            f"ping -M do -s {mtu - 28} -I {underlay['source']} {neighbour}",
        )
