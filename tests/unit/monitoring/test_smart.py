"""What a host tells of drives of each kind, when one is unknown, and what wakes and waits for none.

smartctl is a script here, with answers that were made (`drives_made`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base import bundle
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import units, watched
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring import smart_timer
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics import smart
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics.samples import Sample, read, text
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.drives import DRIVES, hosts_with_drives
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.rules import alerts_of
from ansible_collections.groundup.cloud.tests.unit.host.test_files_and_units import Systemd

from .drives_made import ASLEEP, DISABLED, DISK, NVME, SAS, SSD, VOLUME_ERROR, WITHOUT, Answer, drive
from .sites import planned


class Host:
    """A host with drives."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.scanned: list[dict[str, str]] = []
        self.commands: list[str] = []  # of the script, by what it was asked

    def has(self, name: str, answer: Answer | str, *, kind: str = "sat", error: str = "") -> None:
        """Have a drive that answers, with a JSON or by a command of the shell."""
        self.scanned.append({"name": name, "type": kind} | ({"open_error": error} if error else {}))
        if not isinstance(answer, str):
            path = self.place / f"answer-{len(self.scanned)}.json"
            path.write_text(json.dumps(answer))
            answer = f"cat {path}"
        self.commands.append(f'"--json --xall --nocheck=standby --device={kind} {name}") {answer};;')

    def told(self, before: str = "") -> set[str]:
        """Return the lines that the host tells."""
        (self.place / "scan.json").write_text(json.dumps({"devices": self.scanned}))
        lines = [*self.commands, f'"--json --scan-open") cat {self.place}/scan.json;;', '*) echo "asked: $*"; exit 1;;']
        smart.PROGRAM.write_text("\n".join(["#!/bin/sh", 'case "$*" in', *lines, "esac"]))
        smart.PROGRAM.chmod(0o755)
        return set(text(smart.drives(list(read(before)))).splitlines())


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setattr(smart, "PROGRAM", tmp_path / "smartctl")
    monkeypatch.setattr(smart, "PROCESSORS", tmp_path / "cpuinfo")
    monkeypatch.setattr(smart, "BLOCKS", tmp_path / "block")
    smart.PROCESSORS.write_text("flags : fpu vme\n")
    return Host(tmp_path)


def named(device: str, model: str, serial: str) -> str:
    return f'device="{device}",model_name="{model}",serial_number="{serial}"'


def test_nvme_tells_its_log(host: Host) -> None:
    host.has("/dev/nvme0", NVME, kind="nvme")
    own = named("nvme0", "MADE NVMe", "N1")
    assert host.told() == {
        f"groundup_smart_known{{{own}}} 1", f"smartctl_device_smart_status{{{own}}} 0",
        f"smartctl_device_critical_warning{{{own}}} 1", f"smartctl_device_available_spare{{{own}}} 9",
        f"smartctl_device_available_spare_threshold{{{own}}} 10", f"smartctl_device_percentage_used{{{own}}} 91",
        f"smartctl_device_media_errors{{{own}}} 3",
    }  # fmt: skip


def test_sata_tells_sectors_by_name_and_the_wear_of_an_ssd(host: Host) -> None:
    host.has("/dev/sda", DISK)
    host.has("/dev/sdb", SSD)
    disk, ssd = named("sda", "MADE HDD", "A1"), named("sdb", "MADE SSD", "B1")
    attributes = {
        f'smartctl_device_attribute{{{disk},attribute_id="{number}",attribute_name="{name}",'
        f'attribute_value_type="raw"}} {raw}'
        for number, name, raw in (
            (5, "Reallocated_Sector_Ct", 8), (187, "Reported_Uncorrect", 1), (197, "Current_Pending_Sector", 2),
            (198, "Offline_Uncorrectable", 0),
        )
    }  # fmt: skip
    assert host.told() == attributes | {
        f"groundup_smart_known{{{disk}}} 1", f"smartctl_device_smart_status{{{disk}}} 1",
        f"groundup_smart_known{{{ssd}}} 1", f"smartctl_device_smart_status{{{ssd}}} 1",
        f"smartctl_device_percentage_used{{{ssd}}} 12",
    }  # fmt: skip


def test_a_sas_drive_behind_a_controller_is_named_as_smartctl_is_asked_for_it(host: Host) -> None:
    host.has("/dev/sda", {}, kind="scsi", error=VOLUME_ERROR)  # the volume that it makes of the drive
    host.has("/dev/bus/0", SAS, kind="megaraid,5")
    own = named("bus/0 megaraid,5", "MADE SAS", "C1")
    assert host.told() == {
        f"groundup_smart_known{{{own}}} 1", f"smartctl_device_smart_status{{{own}}} 1",
        f"smartctl_device_percentage_used{{{own}}} 7", f"smartctl_scsi_grown_defect_list{{{own}}} 4",
        f"smartctl_read_total_uncorrected_errors{{{own}}} 2", f"smartctl_write_total_uncorrected_errors{{{own}}} 2",
    }  # fmt: skip


def test_a_drive_that_two_paths_lead_to_is_told_once_and_those_without_a_serial_number_each(host: Host) -> None:
    for name, serial in (("a", "P1"), ("b", "P1"), ("c", ""), ("d", "")):
        host.has(f"/dev/sd{name}", drive("", kind="sat", model="M", serial=serial))
    assert {line.split('"')[1] for line in host.told()} == {"sda", "sdc", "sdd"}


def test_a_drive_that_sleeps_is_not_woken_and_what_it_told_stays(host: Host) -> None:
    host.has("/dev/sda", ASLEEP)
    kept = Sample("smartctl_device_smart_status", 0, {"device": "sda", "serial_number": 'A "1" \\ 2'})
    other = Sample("smartctl_device_smart_status", 1, {"device": "sdz", "serial_number": "Z1"})
    assert host.told(text([kept, other, Sample(smart.ASKED, 1)])) == {text([kept]).rstrip()}
    assert host.told() == set(), "nothing is known since the host's start"


def test_what_speaks_no_smart_tells_nothing(host: Host) -> None:
    host.has("/dev/sda", WITHOUT, kind="scsi")
    (usb := host.place / "devices/pci0000:00/usb1/1-1/block/sdb").mkdir(parents=True)
    smart.BLOCKS.mkdir()
    (smart.BLOCKS / "sdb").symlink_to(usb)
    host.has("/dev/sdb", {"smartctl": {"exit_status": 2, "messages": [{"string": "no medium"}]}}, kind="scsi")
    assert host.told() == set()


@pytest.mark.parametrize(
    ("answer", "error", "why"),
    [
        ({}, "No such device or address", "No such device or address"),
        (DISABLED, "", "SMART Disabled"),
        ("echo Segmentation fault", "", "Expecting value"),
        ({"smartctl": {"exit_status": 2}}, "", "no reason"),
    ],
    ids=["not opened", "disabled", "nonsense", "says nothing"],
)
def test_a_drive_that_does_not_tell_its_state_is_unknown_and_hides_no_other(
    host: Host, capsys: pytest.CaptureFixture[str], answer: Any, error: str, why: str
) -> None:
    host.has("/dev/sda", answer, error=error)
    host.has("/dev/sdb", SSD)
    found = {line for line in host.told() if line.startswith(smart.KNOWN)}
    assert {(line.split('"')[1], line[-1]) for line in found} == {("sda", "0"), ("sdb", "1")}
    said = capsys.readouterr().err
    assert said.startswith("<4>sda does not tell its state: ")
    assert why in said


def test_a_drive_that_hangs_is_unknown_and_not_waited_for(
    host: Host, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(smart, "PATIENCE", 2.0)
    host.has("/dev/sda", "exec sleep 60")
    assert host.told() == {f"groundup_smart_known{{{named('sda', '', '')}}} 0"}
    assert "timed out" in capsys.readouterr().err


def test_a_host_without_the_program_does_not_say_that_it_asked(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    path = host.place / "smart.prom"
    monkeypatch.setattr(sys, "argv", ["smart", str(path)])
    with pytest.raises(FileNotFoundError):
        smart.main()
    assert not path.exists()


def test_a_virtual_machine_has_no_drives_of_its_own(host: Host) -> None:
    host.has("/dev/sda", DISK)
    smart.PROCESSORS.write_text("flags : fpu hypervisor lahf_lm\n")
    assert host.told() == set()


def test_the_program_is_whole_and_writes_all_or_nothing(tmp_path: Path) -> None:
    program, file = tmp_path / "smart.pyz", tmp_path / "smart.prom"
    program.write_bytes(bundle.program(smart))
    command = [sys.executable, "-I", "-S", str(program), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    # This machine may have drives, or lack smartctl; a virtual one is asked for none.
    assert (smart.ASKED in file.read_text()) if done.returncode == 0 else ("smartctl" in done.stderr)
    assert {*tmp_path.iterdir()} == {program} | ({file} if done.returncode == 0 else set())


@pytest.mark.parametrize("fresh", [True, False])
def test_program_and_timer_are_installed_once_and_a_daemon_that_nobody_asked_for_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: bool
) -> None:
    systemd, ended = Systemd(), list[str]()
    monkeypatch.setattr(units, "run", systemd.run)
    monkeypatch.setattr(units, "MARKS", tmp_path / "marks")
    for name in ("UNITS", "LIBRARY", "TEXTS"):
        monkeypatch.setattr(watched, name, tmp_path / name)
    monkeypatch.setattr(smart_timer, "off", lambda _, names: ended.extend(names))
    for again in (False, True):
        changes = Changes(check=False)
        smart_timer.converge(changes, fresh=fresh and not again)
        assert (changes.done == []) is again
    assert ended == ([smart_timer.DAEMON] if fresh else [])
    assert watched.SMART.program.stat().st_mode & 0o777 == 0o755
    assert watched.SMART.metrics.readlink() == watched.SMART_TOLD


def test_a_run_may_speak_to_drives_and_to_nobody_else() -> None:
    service = smart_timer.service()
    assert "CapabilityBoundingSet=CAP_SYS_RAWIO CAP_SYS_ADMIN CAP_MKNOD\n" in service
    assert "PrivateNetwork=yes\n" in service
    assert f"RuntimeDirectory={watched.SMART_TOLD.parent.name}\n" in service
    assert "ReadWritePaths" not in service
    assert f"OnUnitActiveSec={smart_timer.EVERY}\n" in smart_timer.TIMER


def test_hosts_with_a_kernel_of_their_own_ask_their_drives_and_a_lab_has_no_such_alert() -> None:
    plan = planned("ha")
    assert hosts_with_drives(plan) == list(plan.hosts)
    assert {name for name, _ in alerts_of(plan)} >= {*DRIVES}
    lab = planned("lab")
    assert hosts_with_drives(lab) == []
    assert not {name for name, _ in alerts_of(lab)} & {*DRIVES}
    assert "monitoring" not in planned("ha", monitoring__enabled=False).hosts["control-1"].packages
