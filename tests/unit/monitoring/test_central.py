"""The monitoring host takes the plan's files up, also in a run that is limited to other hosts."""

from __future__ import annotations

import json
import stat
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import accounts, ownership, packages, units, watched
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring import central
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.alerts import ALERTS
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.files import files
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import BackupPlan
from ansible_collections.groundup.cloud.tests.unit.host.test_files_and_units import Systemd
from ansible_collections.groundup.cloud.tests.unit.plan.conftest import ROOT
from jinja2 import Environment, StrictUndefined

from .sites import planned

REMOTE: dict[str, Any] = {"url": "https://metrics.corp.test/api/v1/write", "username": None, "secret": None}
GIVEN: dict[str, Any] = {"site": "lab", "files": files(planned("lab")), "receivers": {}}


class MonitoringHost:
    """A host with all programs installed; which were waited for."""

    def __init__(self, systemd: Systemd, home: Path) -> None:
        self.systemd, self.home = systemd, home
        self.waited: list[str] = []
        self.shown = ""  # all diffs

    def told(self, *, check: bool = False, **other: Any) -> list[str]:
        """Return what a run changes."""
        changes = Changes(check=check)
        central.tell(changes, GIVEN | other)
        self.shown += json.dumps(changes.diffs)
        return changes.done


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MonitoringHost:
    systemd = Systemd(SubState="running")
    found = MonitoringHost(systemd, tmp_path / "central")
    monkeypatch.setattr(units, "run", systemd.run)
    monkeypatch.setattr(units, "MARKS", tmp_path / "marks")
    monkeypatch.setattr(watched, "UNITS", tmp_path / "systemd")
    monkeypatch.setattr(watched, "BACKUPS", tmp_path / "texts/groundup-backups.prom")
    monkeypatch.setattr(watched, "DRIFT", tmp_path / "texts/groundup-drift.prom")
    monkeypatch.setattr(watched, "FAILURE", tmp_path / "texts/groundup-hypervisor-failure.prom")
    monkeypatch.setattr(watched, "CAPACITY", tmp_path / "texts/groundup-capacity.prom")
    monkeypatch.setattr(central, "HOME", found.home)
    monkeypatch.setattr(central, "_takes_routing", lambda _: None)  # amtool is of a package
    monkeypatch.setattr(central, "answers", lambda *at: found.waited.append(at[-1]))
    monkeypatch.setattr(ownership, "refuse_other", lambda _: None)
    _installed(central.ALL)
    return found


def _installed(programs: Iterable[central.WatchProgram]) -> None:
    for one in programs:
        path = watched.unit_file(one.unit)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_a_new_target_is_taken_up_by_a_reload_and_the_rest_stays(host: MonitoringHost) -> None:
    assert any("targets/host.json" in line for line in host.told(check=True))
    assert not host.home.exists(), "a dry run writes nothing"
    host.told()
    assert {str(path.relative_to(host.home)) for path in host.home.rglob("*") if path.is_file()} == {*GIVEN["files"]}
    host.systemd.calls.clear()
    assert host.told() == []
    done = host.told(files=GIVEN["files"] | {"targets/host.json": "[]\n"})
    assert done == [f"write {host.home}/targets/host.json", f"reload {watched.STORE}"]
    assert host.systemd.calls == ["reload"]


def test_what_runs_tell_of_themselves_stays(host: MonitoringHost) -> None:
    host.told()
    (host.home / central.RUNS).write_text("{}")
    (host.home / "page/old.html").touch()
    assert host.told() == [f"remove {host.home}/page/old.html", f"reload {watched.STORE}"]
    assert (host.home / central.RUNS).exists()


def test_secrets_of_receivers_are_for_alertmanager_alone_and_leave_with_them(host: MonitoringHost) -> None:
    files_of_site = files(planned("lab", monitoring__pagerduty={}))
    given: dict[str, Any] = {
        "files": files_of_site, "receivers": {"receivers/pagerduty": "hush-key", "receivers/mail": "hush-word"},
    }  # fmt: skip
    done = host.told(**given)
    assert done.index(f"write {host.home}/receivers/pagerduty") < done.index(f"write {host.home}/alertmanager.yml")
    place = host.home / "receivers/pagerduty"
    assert (place.read_text(), stat.S_IMODE(place.stat().st_mode)) == ("hush-key", 0o640)
    changed: dict[str, Any] = given | {"receivers": {"receivers/pagerduty": "hush-another"}}
    gone = f"remove {host.home}/receivers/mail"
    assert host.told(**changed) == [f"write {place}", gone, f"reload {watched.ALERTS}"]
    assert str(place) in host.shown
    assert "hush" not in host.shown, "of a file that goes, too"
    assert host.told(**changed) == []


def test_logs_that_are_off_in_the_site_file_alone_are_left_to_the_full_run(host: MonitoringHost) -> None:
    _installed(central.LOGS)
    kept = [host.home / "door/haproxy.cfg", host.home / "log-rules/logs.yml"]
    for one in kept:
        one.parent.mkdir(parents=True)
        one.touch()
    host.told()
    assert all(one.exists() for one in kept)
    assert watched.LOG_DOOR not in host.waited


def test_a_new_host_may_write_logs_at_once(host: MonitoringHost) -> None:
    plan = planned("lab", monitoring__logs__enabled=True)
    _installed(central.LOGS)
    host.told(files=files(plan))
    assert (host.home / "door/hosts.map").read_text() == files(plan)["door/hosts.map"]
    newer = files(plan) | {"door/hosts.map": "logs-new host=new\n"}
    done = [f"write {host.home}/door/hosts.map", f"restart {watched.LOG_DOOR}"]
    assert host.told(files=newer) == done, "HAProxy as one process reads nothing again"


@pytest.mark.parametrize("remote", [False, True])
@pytest.mark.parametrize("logs", [False, True])
def test_the_monitoring_host_gets_all_that_it_runs_and_a_second_run_changes_nothing(
    host: MonitoringHost, monkeypatch: pytest.MonkeyPatch, *, logs: bool, remote: bool
) -> None:
    plan = planned("lab", monitoring__logs__enabled=logs)
    fetched, idle = list[str](), list[str]()
    monkeypatch.setattr(accounts, "ensure", lambda *_, **__: None)
    monkeypatch.setattr(packages, "installed", lambda *_: False)
    monkeypatch.setattr(central, "off", lambda _, names: idle.extend(names))
    monkeypatch.setattr(central, "install", lambda _, one, path, **__: fetched.append(f"{one.url} {path}"))
    kept = {"programs_url": "https://seed/logs", "retention_days": 7, "max_gib": 9, "off": ["haproxy.service"]}
    given = {
        **GIVEN, "files": files(plan), "retention_days": 30, "hosts": 4, "central_packages": [],
        "programs_url": "https://seed/metrics", "digests": {}, "files_ca": "", "tls": {"monitoring.crt": "PEM"},
        "certificate": "own", "private_key": "key", "ca_certificate": "ca", "backups": {},
        "kept_logs": kept if logs else None, "remote_write": REMOTE if remote else None,
    }  # fmt: skip
    for again in (False, True):
        changes = Changes(check=False)
        central.converge(changes, given)
        assert (changes.done == []) is again
    places = {path.relative_to(host.home).as_posix() for path in host.home.rglob("*") if path.is_file()}
    door = {"door-tls/door.crt", "door-tls/door.crt.key", "door-tls/writers-ca.crt"}
    assert places == {*files(plan), "tls/monitoring.crt", *(door if logs else ())}
    assert stat.S_IMODE((host.home / "tls/monitoring.crt").stat().st_mode) == 0o640
    assert f"https://seed/metrics/vmalert {watched.PROGRAMS}/vmalert" in fetched
    assert (f"https://seed/logs/victoria-logs {watched.LOG_PROGRAMS}/victoria-logs" in fetched) is logs
    assert ("haproxy.service" in idle) is logs
    known = (*central.ALL, *central.LOGS, central.AGENT)
    started = {one.unit for one in known if watched.unit_file(one.unit).exists()}
    assert started == {one.unit for one in central.programs_of(logs=logs, remote=remote)}
    assert (f"https://seed/metrics/vmagent {watched.PROGRAMS}/vmagent" in fetched) is remote


def test_another_store_makes_the_agent_scrape_and_leaves_with_it(
    host: MonitoringHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "ensure", lambda *_, **__: None)
    monkeypatch.setattr(packages, "installed", lambda *_: False)
    for module in (central, watched):
        monkeypatch.setattr(module, "off", lambda *_: None)
    monkeypatch.setattr(watched, "HOME", host.home.parent)
    monkeypatch.setattr(central, "install", lambda *_, **__: None)
    given = {
        **GIVEN, "retention_days": 30, "hosts": 4, "central_packages": [], "kept_logs": None, "files_ca": "",
        "programs_url": "https://seed/metrics", "digests": {}, "tls": {"monitoring.key": "KEY"}, "backups": {},
        "certificate": "own", "private_key": "key", "ca_certificate": "ca", "remote_write": None,
    }  # fmt: skip
    secret = host.home / "remote-write/secret"

    def done(**other: Any) -> list[str]:
        changes = Changes(check=False)
        central.converge(changes, given | other)
        host.shown += json.dumps(changes.diffs)
        return changes.done

    done()
    store = watched.unit_file(watched.STORE)
    assert "-promscrape.config" in store.read_text()
    named: dict[str, Any] = {
        "remote_write": REMOTE | {"username": "cloud", "secret": "monitoring/remote_write"},
        "receivers": {"remote-write/secret": "hush-word"},
    }  # fmt: skip
    made = done(**named)
    assert made.index(f"restart {watched.METRICS_AGENT}") < made.index(f"restart {watched.STORE}"), "no gap"
    assert "-promscrape.config" not in store.read_text()
    assert stat.S_IMODE(secret.stat().st_mode) == 0o640
    assert done(**named) == []
    files_then = GIVEN["files"] | {"targets/host.json": "[]\n"}
    assert host.told(files=files_then, receivers=named["receivers"]) == [
        f"write {host.home}/targets/host.json", f"reload {watched.METRICS_AGENT}"
    ], "who scrapes reads them"  # fmt: skip
    left = done()
    assert left.index(f"restart {watched.STORE}") < left.index(f"remove {secret.parent}")
    assert not watched.unit_file(watched.METRICS_AGENT).exists()
    assert not secret.exists()
    assert "hush" not in host.shown
    assert done() == []


def test_a_restart_that_a_killed_run_left_open_is_made_and_no_reload_takes_its_place(host: MonitoringHost) -> None:
    """A new program runs from its restart on; a reload would take the mark away."""
    host.told()
    changes = Changes(check=False)
    next(one for one in central.ALL if one.unit == watched.STORE).as_unit(changes).mark()
    done = host.told(files=GIVEN["files"] | {"targets/host.json": "[]\n"})
    assert done == [f"write {host.home}/targets/host.json", f"restart {watched.STORE}"]
    assert host.told(files=GIVEN["files"] | {"targets/host.json": "[]\n"}) == []


def test_a_program_that_crashed_is_started_and_waited_for(host: MonitoringHost) -> None:
    host.told()
    host.waited.clear()
    host.systemd.state |= {"ActiveState": "failed", "SubState": "failed"}
    assert host.told() == [f"start {one.unit}" for one in central.ALL]
    assert host.waited == [one.unit for one in central.ALL]


def scheduled() -> Plan:
    """Return a site that promises backups."""
    return replace(planned("lab"), backups=BackupPlan(schedule="*-*-* 02:00"))


def backups_told(*, check: bool = False, **taken: int) -> list[str]:
    """Return what a run changes that knows when parts were saved."""
    changes = Changes(check=check)
    central.backups(changes, {"site": "lab", "backups": taken})
    return changes.done


def ages() -> dict[str, int]:
    """Return what the node exporter tells of each part."""
    lines = (line for line in watched.BACKUPS.read_text().splitlines() if not line.startswith("#"))
    told = map(str.split, lines)
    return {name.removeprefix(f'{central.AGES}{{part="').removesuffix('"}'): int(at) for name, at in told}


@pytest.mark.usefixtures("host")
def test_ages_of_backups_are_told_and_a_part_that_was_never_saved_is_old() -> None:
    assert central.AGES in ALERTS["BackupOld"].expression(scheduled())
    assert backups_told(etcd=0, state=0, check=True) == [f"write {watched.BACKUPS}"]
    assert not watched.BACKUPS.exists()
    backups_told(etcd=0, state=0)
    assert ages() == {"etcd": 0, "state": 0}
    assert backups_told(etcd=0, state=0) == []
    watched.unit_file(watched.STORE).unlink()
    assert backups_told(etcd=2) == [], "it has no store yet"


@pytest.mark.usefixtures("host")
def test_an_age_is_never_replaced_by_an_older_one() -> None:
    """Sets that are out of reach, or in another directory, make no backup old; those of a clock ahead hide none."""
    backups_told(etcd=100, ceph=100)
    backups_told(etcd=50, state=70)
    assert ages() == {"etcd": 100, "state": 70}, "Ceph left the site"
    assert backups_told(etcd=0, state=0) == []
    ahead = int(time.time()) + 86400
    backups_told(etcd=ahead, state=200)
    backups_told(etcd=300, state=150)
    assert ages() == {"etcd": 300, "state": 200}


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("step", ["drift", "failure", "capacity"])
def test_what_a_timer_found_is_told_where_the_store_is(step: str) -> None:
    def done(text: str) -> list[str]:
        changes = Changes(check=False)
        getattr(central, step)(changes, {"site": "lab", "metrics": text})
        return changes.done

    file = getattr(watched, step.upper())
    assert done("a 1\n") == [f"write {file}"]
    assert done("a 1\n") == []
    assert file.read_text() == "a 1\n"
    watched.unit_file(watched.STORE).unlink()
    assert done("a 2\n") == []


def test_a_host_that_has_no_store_yet_is_told_nothing(host: MonitoringHost) -> None:
    for one in central.ALL:
        watched.unit_file(one.unit).unlink()
    assert host.told() == []


@pytest.mark.parametrize(
    ("in_run", "aside", "told"),
    [(["worker-1"], [], True), (["worker-1", "seed-1"], [], False), (["worker-1"], ["seed-1"], False)],
)
def test_a_run_that_leaves_the_monitoring_host_out_tells_it(in_run: list[str], aside: list[str], *, told: bool) -> None:
    tasks = yaml.safe_load((ROOT / "roles/monitoring/tasks/main.yml").read_text())
    (task,) = (one for one in tasks if "'tell'" in str(one.get("groundup.cloud.monitoring")))
    asked = Environment(autoescape=True).compile_expression(task["when"])
    site = {"monitoring": {"host": "seed-1"}}
    assert asked(groundup_site=site, ansible_play_hosts_all=in_run, groups={"absent": aside}) is told


def test_a_backup_tells_its_age_also_when_what_follows_fails_though_it_is_there() -> None:
    (tasks,) = (
        play["tasks"]
        for play in yaml.safe_load((ROOT / "playbooks/backup.yml").read_text())
        if play.get("name") == "Backup sets"
    )

    def steps(tasks: list[dict[str, Any]]) -> list[str]:
        found = [(one.get("groundup.cloud.backup_set") or one.get("groundup.cloud.monitoring") or {}).get("step", "")
                 for one in tasks]  # fmt: skip
        return [one for one in found if one]

    (block,) = (one for one in tasks if "block" in one)
    (within,) = block["block"]
    assert (steps(tasks), steps(block["always"])) == (["take", "verify"], ["backups"])
    assert (steps(within["block"]), steps(within["always"])) == (["test"], ["upload"])


@pytest.mark.parametrize("playbook", ["backup", "backup_logs", "drift", "hypervisor_failure", "capacity"])
def test_on_a_site_without_monitoring_nobody_is_told(playbook: str) -> None:
    """Ansible templates `delegate_to` before it asks `when`."""
    plays = yaml.safe_load((ROOT / f"playbooks/{playbook}.yml").read_text())
    tasks = [one for play in plays for one in play.get("tasks", ())]
    tasks += [one for task in tasks for one in task.get("always", ())]
    asked = [one["delegate_to"] for one in tasks if "delegate_to" in one]
    asked = [one for one in asked if "monitoring" in one]
    (text,) = (Environment(autoescape=True, undefined=StrictUndefined).from_string(one) for one in asked)
    assert text.render(groundup_site={"monitoring": None}) == "localhost"
    assert text.render(groundup_site={"monitoring": {"host": "seed-1"}}) == "seed-1"
