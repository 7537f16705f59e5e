"""The monitoring host takes the plan's files up, also in a run that is limited to other hosts."""

from __future__ import annotations

import json
import stat
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import accounts, packages, watched
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring import central
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.files import files

from .conftest import GIVEN, MonitoringHost, installed
from .sites import planned

REMOTE: dict[str, Any] = {"url": "https://metrics.corp.test/api/v1/write", "username": None, "secret": None}


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
    installed(central.LOGS)
    kept = [host.home / "door/haproxy.cfg", host.home / "log-rules/logs.yml"]
    for one in kept:
        one.parent.mkdir(parents=True)
        one.touch()
    host.told()
    assert all(one.exists() for one in kept)
    assert watched.LOG_DOOR not in host.waited


def test_a_new_host_may_write_logs_at_once(host: MonitoringHost) -> None:
    plan = planned("lab", monitoring__logs__enabled=True)
    installed(central.LOGS)
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
