"""Availability zone and placement labels of hypervisors. Nova's zones and aggregates follow from them."""

from __future__ import annotations

from ...layers.roles import Role
from ..model import Site
from ..model.machines import MachineGroup

NO_RACK = "default"  # rack of machines that the site file assigns to none
ZONE_LABEL = "groundup.cloud/zone"


def place_of(site: Site, roles: tuple[Role, ...], group: MachineGroup, rack: str) -> tuple[str | None, dict[str, str]]:
    """Return availability zone and placement labels of a machine; None and {} when it is not a hypervisor."""
    if "hypervisor" not in roles:
        return None, {}
    room = site.racks[rack].room if rack in site.racks else None
    labels = dict(group.labels)
    zone = labels.pop(ZONE_LABEL, "") or room
    stands = {"rack": None if rack == NO_RACK else rack, "room": room}
    return zone, labels | {key: value for key, value in stands.items() if value}
