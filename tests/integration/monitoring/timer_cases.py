"""The same for alerts of what timers of the control node found and did: backups, drift, hypervisors, room, healing."""

from __future__ import annotations

from .cases import BEGIN, DAY, Case, Series

_EAST = {"scope": "zone", "name": "east", "resource": "vcpus"}
_LABELS = 'job="node",object="seed-1",scope="zone",name="east",resource="vcpus"'
_BACKUP = 'groundup_backup_newest_timestamp_seconds{object="seed-1",part="etcd"}'
_COPIED = _BACKUP.replace("etcd", "binary-logs")
_NEVER = _BACKUP.replace("etcd", "state")
_LOOKED = 'groundup_drift_looked_timestamp_seconds{object="seed-1"}'
_DOWN = 'groundup_hypervisor_down_instances{job="node",object="seed-1",hypervisor="hypervisor-1",project="web"}'
_ASKED = 'groundup_hypervisor_looked_timestamp_seconds{job="node",object="seed-1"}'
_MEASURED = 'groundup_capacity_looked_timestamp_seconds{job="node",object="seed-1"}'


def room(used: str, free: str) -> Series:
    """Return the series of a zone."""
    values = {"": "100x60", "_used": used, "_free": free}
    return {f"groundup_capacity{figure}{{{_LABELS}}}": one for figure, one in values.items()}


def _drift(kind: str, values: str) -> Series:
    return {f'groundup_drift_{kind}{{object="seed-1",part="host"}}': values}


def _healed(what: str, values: str, *, part: str) -> Series:
    return {f'groundup_heal_{what}{{job="node",object="seed-1",part="{part}"}}': values}


def _repeated(ago: int) -> Series:
    """Return the series of a layer that ran ``ago`` days ago, for what it ran before."""
    at = f"{BEGIN - ago * DAY}x60"
    return _healed("repeated", "1x60", part="host") | _healed("last_timestamp_seconds", at, part="host")


TIMER_CASES = (
    Case(
        alert="BackupOld", layer="host", fires={_BACKUP: f"{BEGIN - 2 * DAY}x30"},
        quiet={_BACKUP: f"{BEGIN - DAY}x30"}, labels={"object": "backups", "part": "etcd"},
    ),
    Case(
        alert="BackupOld", layer="host", fires={_NEVER: "0x30"}, quiet={_NEVER: f"{BEGIN - DAY}x30"},
        labels={"object": "backups", "part": "state"},
    ),
    Case(
        alert="BinaryLogsOld", layer="host", fires={_COPIED: f"{BEGIN - 3600}x30"},
        quiet={_COPIED: f"{BEGIN}x30"}, labels={"object": "backups"},
    ),
    Case(
        alert="SiteDrifted", layer="monitoring", fires=_drift("objects", "0 2x30"), quiet=_drift("objects", "0x30"),
        labels={"object": "drift", "part": "host"},
    ),
    Case(
        alert="DriftUnknown", layer="monitoring", fires=_drift("unknown", "0 1x30"), quiet=_drift("unknown", "0x30"),
        labels={"object": "drift", "part": "host"},
    ),
    Case(
        alert="DriftOld", layer="monitoring", fires={_LOOKED: f"{BEGIN - 2 * DAY}x30"},
        quiet={_LOOKED: f"{BEGIN - DAY}x30"}, labels={"object": "drift"},
    ),
    Case(
        alert="HypervisorFailed", layer="hypervisor", fires={_DOWN: "0 2x60"}, quiet={_DOWN: "0x60"},
        labels={"object": "hypervisor-1", "hypervisor": "hypervisor-1", "project": "web"},
    ),
    Case(
        alert="HypervisorLookOld", layer="monitoring", fires={_ASKED: f"{BEGIN - 900}x60"},
        quiet={_ASKED: f"{BEGIN + 600}x60"}, labels={"object": "hypervisor_failure"},
    ),
    Case(
        alert="HealFailed", layer="monitoring", fires=_healed("failed", "0 1x30", part="openstack"),
        quiet=_healed("failed", "0x30", part="openstack"), labels={"object": "drift", "part": "openstack"},
    ),
    Case(
        alert="HealRepeated", layer="monitoring", fires=_repeated(1), quiet=_repeated(2),
        labels={"object": "drift", "part": "host"},
    ),
    Case(  # used by half; what is left is with hosts that are away
        alert="CapacityFull", layer="openstack", fires=room("50x60", "9x60"), quiet=room("50x60", "11x60"),
        labels={"object": "capacity", **_EAST},
    ),
    Case(
        alert="CapacityOld", layer="monitoring", fires={_MEASURED: f"{BEGIN - 2 * DAY}x30"},
        quiet={_MEASURED: f"{BEGIN - DAY}x30"}, labels={"object": "capacity"},
    ),
)  # fmt: skip
ENDING = Case(alert="CapacityEnding", layer="openstack", fires={}, quiet={}, labels={"object": "capacity", **_EAST})
