"""Create a bridge on this machine for each network of a lab."""

from __future__ import annotations

from typing import Any

from ...module_utils._base.changes import Changes
from ...module_utils._container import forwarding, network
from ...module_utils._container.model import networks_of
from ...module_utils._container.names import link_name


def create(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Create or correct the bridges and return the step's result. Raises GroundupError."""
    site, networks, links = given["site"], networks_of(given["networks"]), network.links()
    for name, item in networks.items():
        faults = "; ".join(network.bridge_faults(site, item, links))
        if faults and changes.add(f"bridge of {name}: {faults}", name=name, before=f"{faults}\n", after="as planned\n"):
            network.make_bridge(site, item, links)
    for program in forwarding.closed(site):
        if changes.add(f"let packets cross the lab's bridges: the chain FORWARD of {program} drops"):
            forwarding.let_through(program, site)
    return {"bridges": {name: link_name(site, name) for name in networks}, **changes.result()}


def remove(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Remove the site's links and return the step's result. Raises GroundupError."""
    site = given["site"]
    mine = network.links_of(site)
    if mine and changes.add("remove the site's links", name="links", before="".join(f"{name}\n" for name in mine)):
        network.remove_links(mine)
    for program in forwarding.opened(site):
        if changes.add(f"remove the lab's rule from the chain FORWARD of {program}"):
            forwarding.take_away(program, site)
    return {"removed": mine, **changes.result()}
