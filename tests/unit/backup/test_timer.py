"""The timer of backups: the units that systemd gets, without the password; refused where nothing would run it."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets import timer
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import (
    BackupPlan,
    CapacityPlan,
    FailurePlan,
    HealPlan,
    MonitoringPlan,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.run_mode import WITHIN_RUN
from ansible_collections.groundup.cloud.plugins.plugin_utils.status.backup_sets import set_rows
from ansible_collections.groundup.cloud.tests.unit.monitoring.sites import planned

WATCHED = MonitoringPlan(
    host="seed-1", interval=15, retention_days=30, pagerduty=None, mail=None, webhook=None, drift=None, programs=""
)
# Stands for systemd, which this machine may lack: says what a file says, and keeps what it is told.
_SYSTEMCTL = """#!/bin/sh
here=$(dirname "$0")
case " $* " in *" show "*) cat "$here/shown";; *) echo "$*" >> "$here/told";; esac
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with systemctl, what it shows and what it was told, and the units."""
    (tmp_path / "systemctl").write_text(_SYSTEMCTL)
    (tmp_path / "systemctl").chmod(0o755)
    (tmp_path / "shown").write_text("ActiveState=inactive\nResult=success\n")
    (tmp_path / "units").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(timer, "_BOOTED", tmp_path)
    monkeypatch.setattr(timer, "_home", lambda: tmp_path / "units")
    monkeypatch.setattr(timer, "_root", lambda: True)
    return tmp_path


def scheduled(plan: Plan, *, password_file: str | None = None) -> Plan:
    return replace(plan, backups=BackupPlan(schedule="*-*-* 02:00", password_file=password_file))


def converged(plan: Plan, *, check: bool = False) -> list[str]:
    changes = Changes(check=check)
    timer.converge(plan, "/srv/si te/site.yml", changes)
    return changes.done


def passed(service: str) -> dict[str, Any]:
    """Return the extra variables of a unit's playbook."""
    (command,) = (line for line in service.splitlines() if line.startswith("ExecStart="))
    found: dict[str, Any] = json.loads(shlex.split(command.removeprefix("ExecStart="))[-1])
    return found


def test_the_timer_runs_the_playbook_with_the_password_file_and_never_the_password(plan: Plan, machine: Path) -> None:
    assert len(converged(scheduled(plan), check=True)) == 3
    assert [*(machine / "units").iterdir()] == []
    assert converged(scheduled(plan))
    service = (machine / "units/groundup-backup-lab.service").read_text()
    assert f'Environment="ANSIBLE_VAULT_PASSWORD_FILE={machine}/password"' in service
    assert '/ansible-playbook" "-i" "/srv/si te/site.yml" "groundup.cloud.backup"\n' in service
    assert "of this test" not in service
    assert "OnCalendar=*-*-* 02:00\nPersistent=true\n" in (machine / "units/groundup-backup-lab.timer").read_text()
    told = (machine / "told").read_text().splitlines()
    assert told[-1] == "restart -- groundup-backup-lab.timer"
    (machine / "shown").write_text("ActiveState=active\nResult=success\n")
    assert converged(scheduled(plan)) == []
    assert converged(plan) == [f"remove {machine}/units/groundup-backup-lab.{kind}" for kind in ("timer", "service")]
    assert converged(plan) == []


def test_a_timer_that_changes_is_off_until_its_run_has_started_it(plan: Plan, machine: Path) -> None:
    """A killed run would leave one of the former text, which the next takes for that of its file."""
    converged(scheduled(plan))
    (machine / "told").unlink()
    (machine / "shown").write_text("ActiveState=active\nResult=success\n")
    converged(replace(plan, backups=BackupPlan(schedule="*-*-* 03:00")))
    told = [one.split()[0] for one in (machine / "told").read_text().splitlines()]
    assert told == ["stop", "daemon-reload", "enable", "restart"]


def test_a_site_is_compared_by_a_timer_that_takes_drift_for_no_failure(plan: Plan, machine: Path) -> None:
    watched = replace(WATCHED, drift="*-*-* 05:00")
    compared = replace(plan, monitoring=watched)
    assert len(converged(compared, check=True)) == 3
    converged(compared)
    service = (machine / "units/groundup-drift-lab.service").read_text()
    assert passed(service) == {"drift_publish": True}
    assert "TimeoutStartSec=1h\nSuccessExitStatus=2 4\n" in service
    assert f'Environment="ANSIBLE_VAULT_PASSWORD_FILE={machine}/password"' in service
    assert "OnCalendar=*-*-* 05:00\n" in (machine / "units/groundup-drift-lab.timer").read_text()
    assert converged(plan) == [f"remove {machine}/units/groundup-drift-lab.{kind}" for kind in ("timer", "service")]


def test_only_the_timer_of_a_site_that_wants_it_mends(plan: Plan, machine: Path) -> None:
    mends = replace(WATCHED, drift="daily", heal=HealPlan(layers=("host",), window="02:00-05:00"))
    converged(replace(plan, monitoring=mends))
    service = (machine / "units/groundup-drift-lab.service").read_text()
    assert passed(service) == {"drift_publish": True, "drift_heal": True}
    assert "TimeoutStartSec=12h\n" in service, "what is killed may be half done"


def test_a_timer_looks_for_dead_hypervisors_where_the_site_has_a_policy(plan: Plan, machine: Path) -> None:
    cloud = replace(plan.openstack, hypervisor_failure=FailurePlan(action="tell", after=300))
    watched = replace(plan, openstack=cloud)
    assert len(converged(watched, check=True)) == 3
    converged(watched)
    service = (machine / "units/groundup-hypervisor-failure-lab.service").read_text()
    assert passed(service) == {
        "failure_file": str(state_dir("lab") / "hypervisor-failure.json"),
        "failure_publish": True,
    }
    assert "SuccessExitStatus=2 4\n" in service, "a dead hypervisor is no fault of the look"
    assert "OnCalendar=*:0/2\n" in (machine / "units/groundup-hypervisor-failure-lab.timer").read_text()
    removed = [f"remove {machine}/units/groundup-hypervisor-failure-lab.{kind}" for kind in ("timer", "service")]
    assert converged(plan) == removed


def test_a_timer_asks_for_the_room_of_a_site_that_wants_its_alerts(plan: Plan, machine: Path) -> None:
    watched = replace(plan, monitoring=replace(WATCHED, capacity=CapacityPlan(schedule="*:0/15", percent=90, days=30)))
    assert len(converged(watched)) == 3
    service = (machine / "units/groundup-capacity-lab.service").read_text()
    assert '"groundup.cloud.capacity" ' in service
    assert passed(service) == {"capacity_publish": True}
    assert "SuccessExitStatus" not in service, "what could not be asked is not told"
    assert "OnCalendar=*:0/15\n" in (machine / "units/groundup-capacity-lab.timer").read_text()
    assert converged(plan) == [f"remove {machine}/units/groundup-capacity-lab.{kind}" for kind in ("timer", "service")]


def test_the_copy_of_binary_logs_runs_all_the_time(plan: Plan, machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied = replace(plan, backups=BackupPlan(logs_every=5))
    assert converged(copied)
    unit = machine / "units/groundup-logs-lab.service"
    assert '"groundup.cloud.backup_logs"\nNice=10\n\n[Install]\nWantedBy=multi-user.target\n' in unit.read_text()
    assert "Restart=always\n" in unit.read_text()
    assert (machine / "told").read_text().splitlines()[-1] == "restart -- groundup-logs-lab.service"
    assert [one.name for one in (machine / "units").iterdir()] == [unit.name]
    (machine / "shown").write_text("ActiveState=active\nResult=success\n")
    assert converged(copied) == []
    for other in (replace(plan, backups=BackupPlan(logs_every=9)), replace(copied, backup_directory="/srv/50%")):
        assert f"start {unit.name}" in converged(other)
        assert converged(other) == []
    watched = replace(copied, monitoring=planned("lab").monitoring)
    assert f"start {unit.name}" in converged(watched)
    assert '"groundup.cloud.backup_logs" "-e" "backup_logs_seconds=900"\n' in unit.read_text(), "it tells, and goes on"
    assert f"start {unit.name}" in converged(replace(copied, backup_directory="/srv/50%"))
    assert "every 5 s into /srv/50%%, of the site lab" in unit.read_text()
    assert converged(plan) == [f"remove {unit}"]
    monkeypatch.setattr(timer, "_BOOTED", machine / "none")
    changes = Changes(check=False)
    timer.converge(copied, "site.yml", changes)
    assert (changes.done, len(changes.warnings)) == ([], 1)  # status says that nothing is copied


def test_no_password_file_and_no_systemd_are_refused(
    plan: Plan, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(GroundupError, match="a timer of this site has no password file: /nowhere/word"):
        converged(scheduled(plan, password_file="/nowhere/word"))
    monkeypatch.setattr(timer, "_BOOTED", machine / "none")
    with pytest.raises(GroundupError, match="needs systemd, which does not run this machine"):
        converged(scheduled(plan))
    assert [*(machine / "units").iterdir()] == []
    assert converged(plan) == []


def test_status_says_that_the_timer_is_off_or_that_its_last_run_failed(plan: Plan, machine: Path) -> None:
    def row() -> tuple[str, str]:
        (found,) = [one for one in set_rows(scheduled(plan), days=2) if one.name == "timer"]
        return found.state, found.what

    assert row() == ("broken", "groundup-backup-lab.timer does not run")
    (machine / "shown").write_text("ActiveState=active\nResult=exit-code\n")
    assert row() == ("broken", "its last run failed (exit-code)")
    (machine / "shown").write_text("ActiveState=active\nResult=success\n")
    assert row() == ("ok", "*-*-* 02:00")
    assert [one.name for one in set_rows(plan, days=2)] == ["sets"]


def test_what_systemd_reads_into_a_word_is_escaped() -> None:
    assert timer._quoted('a "b" %h $x \\') == '"a \\"b\\" %%h $$x \\\\"'
    assert timer._quoted('a "b" %h $x \\', dollars=False) == '"a \\"b\\" %%h $x \\\\"', "of the environment"


def test_what_a_timer_starts_is_a_run_of_its_own(plan: Plan, machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WITHIN_RUN, "1")  # as of the run that makes the timer
    monkeypatch.setenv("GROUNDUP_CACHE", "/srv/a$b")
    converged(scheduled(plan))
    service = (machine / "units/groundup-backup-lab.service").read_text()
    assert WITHIN_RUN not in service
    assert 'Environment="GROUNDUP_CACHE=/srv/a$b"\n' in service
