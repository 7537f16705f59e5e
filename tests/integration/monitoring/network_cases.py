"""The same for ovn-northd of the control hosts."""

from __future__ import annotations

from .cases import Case, Series


def _northd(first: str, second: str) -> Series:
    return {'ovn_northd_status{object="control-1"}': first, 'ovn_northd_status{object="control-2"}': second}


NETWORK_CASES = (
    Case(  # one hangs, and the other has not taken over
        alert="OvnNorthdIdle", layer="network", fires=_northd("1 -1x30", "0x30"), quiet=_northd("1x30", "0x30"),
        labels={"object": "ovn-northd"},
    ),
)  # fmt: skip
NETWORK_ALONE = (
    Case(
        alert="OvnNorthdOut", layer="network", fires=_northd("1 -1x30", "0 1x30"), quiet=_northd("0x30", "1x30"),
        labels={"object": "control-1"},
    ),
    Case(  # an operator has paused it, and told by one alert alone
        alert="OvnNorthdIdle", layer="network", fires=_northd("2x30", "-1x30"), quiet=_northd("1x30", "2x30"),
        labels={"object": "ovn-northd"},
    ),
)  # fmt: skip
