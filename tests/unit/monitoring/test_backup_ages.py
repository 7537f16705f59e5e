"""The age of backups, and what timers find, as the monitoring host is told."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import watched
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring import central, texts
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.alerts import ALERTS
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import BackupPlan
from ansible_collections.groundup.cloud.tests.unit.plan.conftest import ROOT
from jinja2 import Environment, StrictUndefined

from .conftest import MonitoringHost
from .sites import planned


def scheduled() -> Plan:
    """Return a site that promises backups."""
    return replace(planned("lab"), backups=BackupPlan(schedule="*-*-* 02:00"))


def backups_told(*, check: bool = False, **taken: int) -> list[str]:
    """Return what a run changes that knows when parts were saved."""
    changes = Changes(check=check)
    texts.backups(changes, {"site": "lab", "backups": taken})
    return changes.done


def ages() -> dict[str, int]:
    """Return what the node exporter tells of each part."""
    lines = (line for line in watched.BACKUPS.read_text().splitlines() if not line.startswith("#"))
    told = map(str.split, lines)
    return {name.removeprefix(f'{texts.AGES}{{part="').removesuffix('"}'): int(at) for name, at in told}


@pytest.mark.usefixtures("host")
def test_ages_of_backups_are_told_and_a_part_that_was_never_saved_is_old() -> None:
    assert texts.AGES in ALERTS["BackupOld"].expression(scheduled())
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
        getattr(texts, step)(changes, {"site": "lab", "metrics": text})
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
