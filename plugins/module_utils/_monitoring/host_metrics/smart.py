"""What drives tell of themselves (SMART): by smartctl, under the names of smartctl_exporter.

Each with model and serial number: names of devices may change when the host starts. A drive that sleeps is not woken,
and what it told before stays. One without SMART tells nothing, nor does a virtual machine, whose drives are files.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .samples import Sample, place, read

PROGRAM = Path("/usr/sbin/smartctl")
PROCESSORS, BLOCKS = Path("/proc/cpuinfo"), Path("/sys/class/block")
ASKED, KNOWN = "groundup_smart_asked_timestamp_seconds", "groundup_smart_known"
PATIENCE = 60.0  # seconds for one answer: a drive that fails is slow
_VIRTUAL = " hypervisor"  # a flag of the processors
_ASLEEP = "Device is in "  # STANDBY mode, ...
_CONTROLLERS = "'-d "  # "please try adding '-d megaraid,N'": no drive, but what a RAID controller makes of some
_NVME, _SCSI = "nvme_smart_health_information_log", "scsi_error_counter_log"
_NUMBERS = (
    ("smartctl_device_smart_status", "smart_status.passed"),
    *((f"smartctl_device_{one}", f"{_NVME}.{one}") for one in
      ("critical_warning", "percentage_used", "available_spare", "available_spare_threshold", "media_errors")),
    ("smartctl_device_percentage_used", "scsi_percentage_used_endurance_indicator"),
    ("smartctl_scsi_grown_defect_list", "scsi_grown_defect_list"),
    *((f"smartctl_{one}_total_uncorrected_errors", f"{_SCSI}.{one}.total_uncorrected_errors") for one in
      ("read", "write")),
)  # fmt: skip
# By name: other vendors count other things under these numbers, and smartctl's database knows them.
_ATTRIBUTES = {"Reallocated_Sector_Ct", "Reported_Uncorrect", "Current_Pending_Sector", "Offline_Uncorrectable"}
_ENDURANCE = 7, 8  # page and offset of "Percentage Used Endurance Indicator" in ATA's device statistics


def main() -> None:
    """Write the file that is named in the command line."""
    path = Path(sys.argv[1])
    before = list(read(path.read_text(encoding="utf-8"))) if path.exists() else []
    place(path, [*drives(before), Sample(ASKED, time.time())])


def drives(before: Sequence[Sample] = ()) -> Iterator[Sample]:
    """Yield what each drive tells, once, however many paths lead to it. ``before``: what was told last.

    Raises OSError, ValueError, SubprocessError where smartctl does not say which drives there are.
    """
    if _VIRTUAL in PROCESSORS.read_text(encoding="utf-8", errors="replace"):
        return
    seen = set[str]()
    for one in _said("--scan-open").get("devices", ()):
        samples = list(_told(one, before))
        serial = samples[0].labels["serial_number"] if samples else ""
        if not serial or serial not in seen:
            yield from samples
        seen.add(serial)


def _told(one: Mapping[str, str], before: Sequence[Sample]) -> Iterator[Sample]:
    """Yield what the drive ``one`` of the scan tells."""
    # Behind a controller, which is the device, the type has the drive's number.
    device = one["name"].removeprefix("/dev/") + (f" {one['type']}" if "," in one["type"] else "")
    said: dict[str, Any] = {}
    if not (error := one.get("open_error", "")):
        try:
            said = _said("--xall", "--nocheck=standby", f"--device={one['type']}", one["name"])
        except (OSError, ValueError, subprocess.SubprocessError) as fault:
            error = str(fault)
    messages = [message["string"] for message in said.get("smartctl", {}).get("messages", ())]
    if any(message.startswith(_ASLEEP) for message in messages):
        yield from (sample for sample in before if sample.labels.get("device") == device)
        return
    if said.get("smart_support", {}).get("available") is False or _CONTROLLERS in error:
        return
    if not (known := _at(said, "smart_status.passed") is not None):
        if _of_usb(one["name"]):  # a card reader, virtual media of a management controller: they do not say so
            return
        print(f"<4>{device} does not tell its state: {error or '; '.join(messages) or 'no reason'}", file=sys.stderr)
    model = said.get("model_name") or said.get("scsi_model_name") or ""
    labels = {"device": device, "model_name": model, "serial_number": said.get("serial_number", "")}
    yield Sample(KNOWN, known, labels)
    yield from health(said, labels)


def health(said: Mapping[str, Any], labels: Mapping[str, str]) -> Iterator[Sample]:
    """Yield the health of a drive with ``labels`` in what smartctl ``said``: of NVMe, SCSI and ATA alike."""
    for name, path in _NUMBERS:
        if (value := _at(said, path)) is not None:
            yield Sample(name, value, labels)
    for one in said.get("ata_smart_attributes", {}).get("table", ()):
        if one["name"] in _ATTRIBUTES:
            own = {"attribute_id": f"{one['id']}", "attribute_name": one["name"], "attribute_value_type": "raw"}
            yield Sample("smartctl_device_attribute", one["raw"]["value"], {**labels, **own})
    for page in said.get("ata_device_statistics", {}).get("pages", ()):
        for one in page.get("table", ()):
            if (page["number"], one["offset"]) == _ENDURANCE and one["flags"]["valid"]:
                yield Sample("smartctl_device_percentage_used", one["value"], labels)


def _at(said: Any, path: str) -> float | None:
    """Return the number at ``path`` of what was said; None: there is none."""
    for key in path.split("."):
        said = said.get(key) if isinstance(said, dict) else None
    return said if isinstance(said, int | float) else None


def _of_usb(name: str) -> bool:
    return "/usb" in str((BLOCKS / Path(name).name).resolve())


def _said(*words: str) -> dict[str, Any]:
    """Return what smartctl says to ``words``. Raises OSError, ValueError, SubprocessError."""
    command = (str(PROGRAM), "--json", *words)
    # Its exit status tells of the drive, too: what it says is judged.
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        said, _ = program.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        program.kill()  # and not waited for: what waits for a disk does not end
        raise
    found: dict[str, Any] = json.loads(said)
    return found
