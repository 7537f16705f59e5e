"""Where a hypervisor stands, and what its machines are labelled with: what Nova's zones and aggregates follow from."""

from __future__ import annotations

from ...layers.roles import Role
from ..model import Site
from ..model.machines import MachineGroup

NO_RACK = "default"  # the rack of machines whose site file names none
ZONE_LABEL = "groundup.cloud/zone"


def place_of(site: Site, roles: tuple[Role, ...], group: MachineGroup, rack: str) -> tuple[str | None, dict[str, str]]:
    """Return availability zone and labels of a machine with ``roles``; nothing when it is no hypervisor."""
    if "hypervisor" not in roles:
        return None, {}
    room = site.racks[rack].room if rack in site.racks else None
    labels = dict(group.labels)
    zone = labels.pop(ZONE_LABEL, "") or room
    stands = {"rack": None if rack == NO_RACK else rack, "room": room}
    return zone, labels | {key: value for key, value in stands.items() if value}
