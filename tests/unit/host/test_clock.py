"""Time zone and time service of a host, on a file tree that stands for one."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import (
    clock,
)


def test_an_unknown_time_zone_is_an_error_that_names_the_field(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "ZONES", tmp_path)
    with pytest.raises(GroundupError, match=r"(?s)Mars/Olympus.*hosts\.timezone"):
        clock.timezone(changes, "Mars/Olympus")


@pytest.mark.parametrize(
    ("unit", "said", "expected"),
    [
        ({"ActiveState": "active", "ConditionResult": "yes"}, "yes\n", True),
        ({"ActiveState": "active", "ConditionResult": "yes"}, "no\n", False),
        ({"ActiveState": "failed", "ConditionResult": "yes"}, "no\n", False),
        ({"ActiveState": "inactive", "ConditionResult": "no", "ConditionTimestampMonotonic": "17"}, "no\n", None),
        ({"ActiveState": "inactive", "ConditionResult": "no", "ConditionTimestampMonotonic": "0"}, "no\n", False),
    ],
)
def test_the_clock_is_in_step_or_not_or_somebody_elses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: dict[str, str], said: str, expected: bool | None
) -> None:
    daemon = tmp_path / "chronyd"
    daemon.touch()
    monkeypatch.setattr(clock, "CHRONYD", daemon)
    monkeypatch.setattr(clock, "properties", lambda *_: unit)
    monkeypatch.setattr(clock, "attempt", lambda argv: subprocess.CompletedProcess(argv, 0, said, ""))
    assert clock.state()["synchronised"] is expected


def test_a_clock_of_ptp_is_left_alone_and_trusted(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CHRONYD", "TIMESYNCD", "NTPD"):
        monkeypatch.setattr(clock, name, tmp_path / name)
    monkeypatch.setattr(clock, "UNITS", tmp_path)
    (tmp_path / "multi-user.target.wants").mkdir()
    (tmp_path / "multi-user.target.wants/phc2sys@ens3.service").touch()
    monkeypatch.setattr(clock, "properties", lambda unit, *_: {"ActiveState": "active"} if "@ens3" in unit else {})
    assert clock.lacking() == [], "two programs would set one clock"
    clock.servers(changes, ["ntp.lab.test"])
    assert (changes.done, len(changes.warnings)) == ([], 1)
    assert clock.state()["synchronised"] is True


def test_a_host_without_a_time_service_gets_one_though_no_server_is_written(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CHRONYD", "TIMESYNCD", "NTPD"):
        monkeypatch.setattr(clock, name, tmp_path / name)
    assert clock.lacking() == ["chrony"]
    (tmp_path / "NTPD").touch()
    assert clock.lacking() == [], "chrony would take its place"
    clock.servers(changes, ["ntp.lab.test"])
    assert "hosts.ntp_servers does not reach it: write ntp.lab.test" in changes.warnings[0]
    active = {"ActiveState": "active", "ConditionResult": "yes", "ConditionTimestampMonotonic": "1"}
    monkeypatch.setattr(clock, "properties", lambda *_: active)
    monkeypatch.setattr(clock, "attempt", lambda _: SimpleNamespace(stdout="yes\n"))
    assert clock.state() == {"service": "ntpsec.service", "synchronised": True, "why": "ntpsec.service is active"}
    (tmp_path / "NTPD").unlink()
    (tmp_path / "TIMESYNCD").touch()
    assert clock.lacking() == [], "the host's own keeps the time"


@pytest.mark.parametrize(
    ("programs", "unit", "file"),
    [
        (["NTPD"], "ntpsec", "/etc/ntpsec/ntp.conf"),
        (["NTPD", "NTPCTL"], "openntpd", "/etc/openntpd/ntpd.conf"),
        (["NTPD_RS"], "ntpd-rs", "/etc/ntpd-rs/ntp.toml"),
    ],
)
def test_a_time_service_of_the_administrators_stays_the_only_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: list[str], unit: str, file: str
) -> None:
    changes = Changes(check=False)
    for name in ("CHRONYD", "TIMESYNCD", "NTPD", "NTPCTL", "NTPD_RS", "UNITS"):
        monkeypatch.setattr(clock, name, tmp_path / name)
    for name in programs:
        (tmp_path / name).touch()
    assert clock.lacking() == [], "chrony would take its place"
    clock.servers(changes, ["ntp.lab.test"])
    assert changes.warnings == [
        f"{unit} keeps the time, and hosts.ntp_servers does not reach it: write ntp.lab.test into {file}, or install "
        "chrony in its place"
    ]
    monkeypatch.setattr(clock, "properties", lambda name, *_: {"ActiveState": "active"} if unit in name else {})
    monkeypatch.setattr(clock, "attempt", lambda _: SimpleNamespace(stdout="yes\n"))
    assert clock.state()["service"] == f"{unit}.service"


@pytest.mark.parametrize("unit", ["timemaster.service", "ptpd.service", "sfptpd.service", "phc2sys@eno1.service"])
def test_ptp_sets_the_clock_unless_chrony_does_and_hands_it_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: str
) -> None:
    monkeypatch.setattr(clock, "UNITS", tmp_path)
    wants = tmp_path / "multi-user.target.wants"
    wants.mkdir()
    (wants / unit).touch()
    assert clock.by_ptp() == unit
    (wants / "chrony.service").touch()
    assert clock.by_ptp() == ""
