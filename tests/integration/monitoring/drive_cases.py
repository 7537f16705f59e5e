"""The same for what drives tell of themselves (SMART)."""

from __future__ import annotations

from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics.smart import ASKED, KNOWN

from .cases import BEGIN, NODES, Case, Series, up


def _names(device: str) -> dict[str, str]:
    return {"object": "storage-1", "device": device, "model_name": "Made", "serial_number": f"S-{device}"}


def _told(device: str, name: str, values: str, **more: str) -> Series:
    inside = ",".join(f'{label}="{value}"' for label, value in {"job": "node", **_names(device), **more}.items())
    return {f"{name}{{{inside}}}": values}


def _drive(device: str, **values: str) -> Series:
    return {
        name: one for key, each in values.items() for name, one in _told(device, f"smartctl_device_{key}", each).items()
    }


def _sectors(device: str, name: str, values: str) -> Series:
    labels = {"attribute_id": "1", "attribute_name": name, "attribute_value_type": "raw"}
    return _told(device, "smartctl_device_attribute", values, **labels)


def _case(alert: str, device: str, fires: Series, quiet: Series, *, job: bool = True) -> Case:
    labels = _names(device) | ({"job": "node"} if job else {})
    return Case(alert=alert, layer="host", fires=fires, quiet=quiet, labels=labels)


def _errors(device: str, fires: Series, quiet: Series) -> Case:
    return _case("DiskErrors", device, fires, quiet, job=False)


_GROWN = "smartctl_scsi_grown_defect_list"
DRIVE_CASES = (
    _case("DiskFailing", "sda", _drive("sda", smart_status="1 0x30"), _drive("sda", smart_status="1x30")),
    _case(
        "DiskFailing", "nvme0", _drive("nvme0", smart_status="0x30", critical_warning="0 4x30"),
        _drive("nvme0", smart_status="1x30", critical_warning="0x30"),
    ),
    _case(  # and no DiskFailing
        "DiskHot", "nvme1", _drive("nvme1", smart_status="0x30", critical_warning="2x30"),
        _drive("nvme1", smart_status="0x30", critical_warning="1x30"),
    ),
    _case("DiskWorn", "nvme2", _drive("nvme2", percentage_used="90x30"), _drive("nvme2", percentage_used="89x30")),
    _case(  # and no DiskFailing
        "DiskWorn", "nvme3",
        _drive("nvme3", smart_status="0x30", critical_warning="1x30", available_spare="9x30",
               available_spare_threshold="10x30"),
        _drive("nvme3", available_spare="10x30", available_spare_threshold="10x30"),
    ),
    _errors(  # two faults of one disk are told once
        "sdb", _sectors("sdb", "Current_Pending_Sector", "0 8x30") | _sectors("sdb", "Reallocated_Sector_Ct", "1+1x30"),
        _sectors("sdb", "Current_Pending_Sector", "0x30") | _sectors("sdb", "Reallocated_Sector_Ct", "40x30"),
    ),
    _errors("sdc", _sectors("sdc", "Reported_Uncorrect", "3x5 4x30"), _sectors("sdc", "Reported_Uncorrect", "4x30")),
    _errors("nvme4", _drive("nvme4", media_errors="0x5 1x30"), _drive("nvme4", media_errors="5x30")),
    _errors("sdd", _told("sdd", _GROWN, "0x5 1x30"), _told("sdd", _GROWN, "7x30")),
    _case("DiskUnknown", "sde", _told("sde", KNOWN, "1 0x30"), _told("sde", KNOWN, "1x30")),
)  # fmt: skip


def _asked(values: str) -> Series:
    return up("node", "storage-1", "1x30", layer="host") | {f'{ASKED}{{job="node",object="storage-1"}}': values}


DRIVES_ALONE = tuple(
    Case(
        alert="DisksUnasked", layer="host", fires=fires, quiet=_asked(f"{BEGIN - 3600}x30"),
        labels={**NODES, "object": "storage-1"},
    )
    for fires in (_asked(f"{BEGIN - 6000}x30"), up("node", "storage-1", "1x30", layer="host"))
)  # fmt: skip
