"""Alerts of drives by their own word (SMART): each host with a kernel of its own asks them (`host_metrics.smart`)."""

from __future__ import annotations

from collections.abc import Callable

from ...module_utils._monitoring.host_metrics.smart import ASKED, KNOWN
from ...module_utils._monitoring.smart_timer import LATE, PACKAGE
from ..plan.types import Plan
from .machines import grown
from .record import AlertRecord

_DEVICE = "smartctl_device_"
_WARNING = f"{_DEVICE}critical_warning"  # of NVMe: 1 spare, 2 temperature, 4 and above: it fails
_DISK = "the disk {device} of {object} ({model_name}, serial number {serial_number})"
_EXCHANGE = (
    "of an OSD, then run groundup.cloud.storage_replace (docs/storage.md); of a RAID, see RaidDegraded; else drain the "
    "host first (groundup.cloud.drain), and install it anew"
)
BAD_SECTORS = (
    f'max by (object, device) ({_DEVICE}attribute{{job="node"}} or {_DEVICE}media_errors{{job="node"}} '
    'or smartctl_scsi_grown_defect_list{job="node"})'
)


def hosts_with_drives(plan: Plan) -> list[str]:
    """Return the hosts that ask their drives."""
    return [name for name, host in plan.hosts.items() if PACKAGE in host.packages.get("monitoring", ())]


def of_drives(expr: str) -> Callable[[Plan], str]:
    """Return ``expr`` of a site with such hosts."""
    return lambda plan: expr if hosts_with_drives(plan) else ""


def _unasked(plan: Plan) -> str:
    hosts = "|".join(hosts_with_drives(plan))
    late = f"unless on (object) {ASKED} > time() - {LATE}"
    return f'up{{job="node",object=~"{hosts}"}} == 1 {late}' if hosts else ""


def _sectors(*names: str) -> str:
    return f'{_DEVICE}attribute{{job="node",attribute_name=~"{"|".join(names)}"}}'


def _errors() -> str:
    """Return disks with sectors that cannot be read, or with more lost or replaced ones than a week ago."""
    counters = [
        _sectors("Reallocated_Sector_Ct", "Reported_Uncorrect"), f"{_DEVICE}media_errors",
        *(f"smartctl_{one}" for one in
          ("scsi_grown_defect_list", "read_total_uncorrected_errors", "write_total_uncorrected_errors")),
    ]  # fmt: skip
    now = f"{_sectors('Current_Pending_Sector', 'Offline_Uncorrectable')} > 0"
    each = " or ".join([now, *(grown(one, "7d") for one in counters)])
    return f"max by (object, device, model_name, serial_number) ({each})"


DRIVES: dict[str, AlertRecord] = {
    "DiskFailing": AlertRecord(
        layer="host", job="node", severity="critical", after="1m",
        # NVMe's status is its warning: a hot disk does not fail.
        expr=of_drives(f"{_DEVICE}smart_status == 0 unless on (object, device) {_WARNING} or {_WARNING} >= 4"),
        what=f"{_DISK} says that it fails",
        why="it may lose what is on it at any time",
        remedy=f"exchange it now: {_EXCHANGE}; smartctl -x of it tells what is wrong",
    ),
    "DiskErrors": AlertRecord(
        layer="host", job="node", severity="warning", after="5m",
        expr=of_drives(_errors()),
        what=f"{_DISK} has sectors that it cannot read, or lost or replaced some within a week",
        why="such disks fail sooner than others; what was in a lost sector must come from another copy",
        remedy=f"smartctl -x of it tells how many; exchange it: {_EXCHANGE}",
    ),
    "DiskWorn": AlertRecord(
        layer="host", job="node", severity="warning", after="5m",
        expr=of_drives(
            f"{_DEVICE}percentage_used >= 90 or {_DEVICE}available_spare < {_DEVICE}available_spare_threshold"
        ),
        what=f"{_DISK} has used up nine tenths of the writes that it is made for, or has too few spare cells left",
        why="at its end it takes no writes, and those of the same age follow soon",
        remedy=f"exchange it with the next maintenance: {_EXCHANGE}",
    ),
    "DiskHot": AlertRecord(
        layer="host", job="node", severity="warning", after="5m",
        expr=of_drives(f"{_WARNING} % 4 >= 2"),
        what=f"{_DISK} says that it is too hot, or too cold",
        why="it slows down, and wears sooner",
        remedy="look at fans (FanFailed), filters and the air of the rack",
    ),
    "DiskUnknown": AlertRecord(
        layer="host", job="node", severity="warning", after="5m",
        expr=of_drives(f"{KNOWN} == 0"),
        what="the disk {device} of {object} does not tell its state",
        why="it may fail unseen, or does so already",
        remedy="on the host: journalctl -n 50 -u groundup-smart says why; where SMART is disabled: smartctl -s on",
    ),
    "DisksUnasked": AlertRecord(
        layer="host", job="node", severity="warning", after="10m",
        expr=_unasked,
        what="the disks of {object} were not asked for their state for an hour and a half",
        why="the alerts of what they tell stay as they are",
        remedy="on the host: journalctl -n 50 -u groundup-smart; run groundup.cloud.monitoring",
    ),
}  # fmt: skip
