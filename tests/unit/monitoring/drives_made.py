"""Made answers of smartctl, in the shape of its JSON of 7.3 and 7.4: no drive told them."""

from __future__ import annotations

from typing import Any

Answer = dict[str, Any]


def drive(name: str, *, kind: str, model: str, serial: str, passed: bool = True, **more: Any) -> Answer:
    """Return what a drive says of itself."""
    return {
        "smartctl": {"exit_status": 0 if passed else 8},
        "device": {"name": name, "type": kind},
        "model_name": model, "serial_number": serial, "smart_support": {"available": True, "enabled": True},
        "smart_status": {"passed": passed}, **more,
    }  # fmt: skip


def attribute(number: int, name: str, raw: int) -> Answer:
    """Return one of ATA's."""
    return {"id": number, "name": name, "value": 100, "worst": 100, "thresh": 10, "raw": {"value": raw, "string": ""}}


def endurance(used: int, *, valid: bool = True) -> Answer:
    """Return ATA's device statistics of an SSD."""
    rows = [
        {"offset": 8, "name": "Percentage Used Endurance Indicator", "value": used, "flags": {"valid": valid}},
        {"offset": 16, "name": "Other", "value": 77, "flags": {"valid": True}},
    ]
    return {"ata_device_statistics": {"pages": [{"number": 0}, {"number": 7, "table": rows}]}}


NVME = drive(
    "/dev/nvme0", kind="nvme", model="MADE NVMe", serial="N1", passed=False,
    nvme_smart_health_information_log={
        "critical_warning": 1, "temperature": 40, "available_spare": 9, "available_spare_threshold": 10,
        "percentage_used": 91, "media_errors": 3,
    },
)  # fmt: skip
DISK = drive(
    "/dev/sda", kind="sat", model="MADE HDD", serial="A1",
    ata_smart_attributes={
        "table": [
            attribute(5, "Reallocated_Sector_Ct", 8), attribute(9, "Power_On_Hours", 84620),
            attribute(187, "Reported_Uncorrect", 1), attribute(197, "Current_Pending_Sector", 2),
            attribute(198, "Offline_Uncorrectable", 0),
        ]
    },
)  # fmt: skip
# What smartctl's database calls 197 of a model that counts wrong.
SSD = drive(
    "/dev/sdb", kind="sat", model="MADE SSD", serial="B1", **endurance(12),
    ata_smart_attributes={"table": [attribute(197, "Bogus_Current_Pend_Sect", 1)]},
)  # fmt: skip
SAS = drive(
    "/dev/bus/0", kind="megaraid,5", model="", serial="C1", scsi_model_name="MADE SAS", scsi_grown_defect_list=4,
    scsi_percentage_used_endurance_indicator=7,
    scsi_error_counter_log={one: {"total_uncorrected_errors": 2} for one in ("read", "write", "verify")},
)  # fmt: skip
ASLEEP = {
    "smartctl": {
        "exit_status": 2, "messages": [{"string": "Device is in STANDBY mode, exit(2)", "severity": "information"}],
    },
}  # fmt: skip
WITHOUT = {
    "smartctl": {"exit_status": 4}, "smart_support": {"available": False}, "smart_status": {"passed": True},
    "model_name": "QEMU QEMU HARDDISK", "serial_number": "",
}  # fmt: skip
DISABLED = {
    "smartctl": {"exit_status": 4, "messages": [{"string": "SMART Disabled. Use option -s with argument 'on'."}]},
    "smart_support": {"available": True, "enabled": False}, "model_name": "MADE", "serial_number": "D1",
}  # fmt: skip
VOLUME_ERROR = "DELL or MegaRaid controller, please try adding '-d megaraid,N'"
