"""The same for what management controllers tell of machines: all by the monitoring host's node exporter."""

from __future__ import annotations

from .cases import BEGIN, Case, Series


def _machine(name: str, values: str) -> Series:
    return {f'redfish_up{{job="node",object="seed-1",machine="{name}"}}': values}


def _part(kind: str, part: str, values: str, *, what: str = "part_ok") -> Series:
    return {f'redfish_{what}{{job="node",object="seed-1",machine="hypervisor-1",kind="{kind}",part="{part}"}}': values}


def _degrees(now: str, *, limit: str = "") -> Series:
    own = _part("temperature", "CPU1 Temp", now, what="temperature_celsius")
    return own | (_part("temperature", "CPU1 Temp", limit, what="temperature_limit_celsius") if limit else {})


def _of(part: str) -> dict[str, str]:
    return {"object": f"hypervisor-1: {part}", "machine": "hypervisor-1", "part": part}


_LOOKED = 'groundup_redfish_looked_timestamp_seconds{job="node",object="seed-1"}'
_OTHER = _machine("hypervisor-2", "1x30")
_SILENT = {"object": "hypervisor-1", "machine": "hypervisor-1"}
MACHINE_CASES = (
    Case(
        alert="PowerSupplyFailed", layer="host", fires=_part("power supply", "Bay 1", "1 0x30"),
        quiet=_part("power supply", "Bay 1", "1x30"), labels=_of("Bay 1"),
    ),
    Case(
        alert="FanFailed", layer="host", fires=_part("fan", "Fan 3", "1 0x30"), quiet=_part("fan", "Fan 3", "1x30"),
        labels=_of("Fan 3"),
    ),
    Case(
        alert="TemperatureHigh", layer="host", fires=_degrees("80 90x30", limit="90x30"),
        quiet=_degrees("89x30", limit="90x30"), labels=_of("CPU1 Temp"),
    ),
    Case(
        alert="ControllerSilent", layer="host", fires=_OTHER | _machine("hypervisor-1", "1 0x30"),
        quiet=_OTHER | _machine("hypervisor-1", "1x30"), labels=_SILENT,
    ),
    Case(
        alert="ControllersUnasked", layer="monitoring", fires={_LOOKED: f"{BEGIN - 1000}x30"},
        quiet={_LOOKED: f"{BEGIN}+60x30"}, labels={"object": "management controllers"},
    ),
)  # fmt: skip
MACHINES_ALONE = (
    Case(  # a threshold that nobody tells: by the controller's judgement
        alert="TemperatureHigh", layer="host", fires=_degrees("120x30") | _part("temperature", "CPU1 Temp", "1 0x30"),
        quiet=_degrees("120x30") | _part("temperature", "CPU1 Temp", "1x30"), labels=_of("CPU1 Temp"),
    ),
    Case(  # if none answers, that is one fault
        alert="ControllersSilent", layer="host",
        fires=_machine("hypervisor-1", "1 0x30") | _machine("hypervisor-2", "1 0x30"),
        quiet=_machine("hypervisor-1", "0x30") | _OTHER, labels={"object": "management controllers"},
    ),
    Case(
        alert="ControllerSilent", layer="host", fires=_machine("hypervisor-1", "0x30") | _OTHER,
        quiet=_machine("hypervisor-1", "0x30") | _machine("hypervisor-2", "0x30"), labels=_SILENT,
    ),
)  # fmt: skip
