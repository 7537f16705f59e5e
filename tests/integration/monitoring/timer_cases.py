"""The same for alerts of what timers of the control node found: the cloud's room."""

from __future__ import annotations

from .cases import BEGIN, DAY, Case, Series

_EAST = {"scope": "zone", "name": "east", "resource": "vcpus"}
_LABELS = 'job="node",object="seed-1",scope="zone",name="east",resource="vcpus"'
_LOOKED = 'groundup_capacity_looked_timestamp_seconds{job="node",object="seed-1"}'


def room(used: str, free: str) -> Series:
    """Return the series of a zone."""
    values = {"": "100x60", "_used": used, "_free": free}
    return {f"groundup_capacity{figure}{{{_LABELS}}}": one for figure, one in values.items()}


TIMER_CASES = (
    Case(  # used by half; what is left is with hosts that are away
        alert="CapacityFull", layer="openstack", fires=room("50x60", "9x60"), quiet=room("50x60", "11x60"),
        labels={"object": "capacity", **_EAST},
    ),
    Case(
        alert="CapacityOld", layer="monitoring", fires={_LOOKED: f"{BEGIN - 2 * DAY}x30"},
        quiet={_LOOKED: f"{BEGIN - DAY}x30"}, labels={"object": "capacity"},
    ),
)  # fmt: skip
ENDING = Case(alert="CapacityEnding", layer="openstack", fires={}, quiet={}, labels={"object": "capacity", **_EAST})
