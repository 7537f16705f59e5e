"""A restore on the control node: refused, begun, gone on with."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils import lifetime
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.logs.disk import LogShelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore import journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.disk import SetShelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.job import BackupJob
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.write import writing
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import BackupPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import journal as upgrade
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store

from .restoring import Make, given, job


def test_a_check_writes_no_journal_and_a_run_does_until_it_ends(plan: Plan, made: Make) -> None:
    made()
    assert job(plan, check=True).decide({})["restore"] == ""
    assert journal.under_way(plan.site) is None
    name = job(plan).decide({})["restore"]
    assert journal.under_way(plan.site)
    again = job(plan).decide({})
    assert (again["restore"], again["goes_on"]) == (name, True)
    job(plan).end()
    assert journal.under_way(plan.site) is None


def test_a_damaged_set_unknown_parts_and_another_sites_set_are_refused(plan: Plan, shelf: SetShelf, made: Make) -> None:
    backup = made()
    with pytest.raises(GroundupError, match="no part ovn to restore"):
        job(plan, parts=["ovn"])
    file = shelf.home / backup.name / "etcd.sealed"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(GroundupError, match=r"backup-damaged.: part etcd has another SHA-256"):
        job(plan, parts=["kubernetes-keys", "etcd"]).decide({})
    other = made(datetime(2026, 1, 1, tzinfo=UTC), site="elsewhere")
    with pytest.raises(GroundupError, match="backup-of-another-site"):
        job(plan, source=other.name)


def test_a_damaged_part_keeps_no_other_one_from_being_restored(plan: Plan, shelf: SetShelf, made: Make) -> None:
    place = shelf.home / made().name
    (place / "rabbitmq.sealed").write_bytes(b"rotten")
    (place / "etcd.sealed").unlink()
    (warning,) = job(plan, check=True).decide({})["warnings"]
    assert warning == (
        "the backup set is damaged (backup-damaged): part etcd is missing; part rabbitmq has another SHA-256 than "
        "set.json says: these cannot be restored from it"
    )


def test_logs_that_do_not_follow_the_set_are_refused_before_anything_begins(
    plan: Plan, shelf: SetShelf, made: Make
) -> None:
    backup = made()
    store = open_store(plan.site, write=False)
    LogShelf(shelf.home).begin(site=plan.site, store=store, member="mariadb-server-0", history="h", why="")
    assert job(plan, parts=["mariadb"])._logs() is None  # no logs are asked for any more
    plan = replace(plan, backups=BackupPlan(logs_every=5))
    mariadb = job(plan, parts=["mariadb"])
    with pytest.raises(GroundupError, match=r"logs-gap.: the set does not say where logs go on"):
        mariadb._logs()
    assert job(plan, parts=["mariadb"], until="set")._logs() is None
    assert journal.begin(
        plan.site, None, source=backup.name, sha256=backup.sha256, parts=["mariadb"], until="set"
    ).until == "set"  # fmt: skip
    begun = journal.under_way(plan.site)
    journal.refuse(begun, sha256=backup.sha256, parts=["mariadb"], until="set")
    with pytest.raises(GroundupError, match="has begun and not ended") as caught:
        journal.refuse(begun, sha256=backup.sha256, parts=["mariadb"], until="")
    assert "-e restore_until=set goes on" in caught.value.remedy


def test_sets_of_both_releases_fit_while_the_step_between_them_is_open(plan: Plan, made: Make) -> None:
    made()
    assert job(plan)._present({}, name="").releases == ("2026.1",)
    versions = ["2025.2", "2026.1", "2026.2"]  # that a member may have
    upgrade.begin(plan.site, source="2026.1", target="2026.2", versions=versions, what=upgrade.OPENSTACK)
    assert job(plan)._present({}, name="").releases == ("2026.1", "2026.2")


def test_a_second_restore_of_other_parts_or_by_a_living_run_is_refused(plan: Plan, made: Make) -> None:
    made()
    job(plan).decide({})
    with pytest.raises(GroundupError, match=r"kubernetes-keys from .* has begun and not ended") as caught:
        job(plan, parts=["kubernetes-keys", "mariadb"]).decide({})
    assert '{"restore_parts": ["kubernetes-keys"]}' in str(caught.value)
    path = state_dir(plan.site) / journal.FILE
    said = json.loads(path.read_text())
    path.write_text(json.dumps({**said, "run": lifetime.identity(os.getpid())}))  # alive, not our parent
    with pytest.raises(GroundupError, match="a restore is under way: of "):
        job(plan).decide({})
    host, _, rest = lifetime.identity(os.getpid()).partition("/")
    for gone in (f"{host}/another-boot/{rest.partition('/')[2]}", f"elsewhere/{rest}"):
        path.write_text(json.dumps({**said, "run": gone}))
        if gone.startswith("elsewhere"):  # nobody here can say
            with pytest.raises(GroundupError, match="a restore is under way: of ") as caught:
                job(plan).decide({})
            assert '"restore_force": ["run-gone"]' in caught.value.remedy
        assert job(plan, force=["run-gone"] if gone.startswith("elsewhere") else []).decide({})["goes_on"]
    path.write_text("{")
    with pytest.raises(GroundupError, match="the record of a restore cannot be read"):
        job(plan).decide({})


def test_a_backup_and_a_restore_wait_for_each_others_end(plan: Plan, shelf: SetShelf, made: Make) -> None:
    made(datetime(2026, 1, 1, tzinfo=UTC))
    options: dict[str, Any] = {"force": ["outdated"], "source": "20260101T000000Z"}
    store = open_store(plan.site, write=False)
    with writing(shelf, site=plan.site, store=store) as writer:
        with pytest.raises(GroundupError, match="another backup of this site runs"):
            job(plan, **options).decide({})
        assert journal.under_way(plan.site) is None
        assert job(plan, check=True, **options).decide({})["table"], "a check changes nothing, and waits for nobody"
        assert shelf.remains(), f"{writer.name} is written on"
    job(plan, **options).decide({})
    with pytest.raises(GroundupError, match=r"a restore of kubernetes-keys from .* has begun and not ended"):
        made()
    for check in (False, True):
        with pytest.raises(GroundupError, match=r"a restore of kubernetes-keys from .* has begun and not ended"):
            BackupJob(plan, given(), Changes(check=check)).take({})
    assert shelf.names() == ["20260101T000000Z"]
    job(plan, **options).end()
    made()
    assert len(shelf.names()) == 2


def test_a_set_that_goes_while_a_restore_is_decided_is_not_restored(
    plan: Plan, shelf: SetShelf, made: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is removed, or is the newest no more, after it was read and before the restore keeps backups away."""
    made(datetime(2026, 1, 1, tzinfo=UTC))
    work = job(plan, force=["outdated"])
    monkeypatch.setattr(work, "_logs", made)
    with pytest.raises(GroundupError, match="the newest set is another one now"):
        work.decide({})
    work = job(plan)
    monkeypatch.setattr(work, "_logs", lambda: shutil.rmtree(shelf.home))
    with pytest.raises(GroundupError, match="there is no backup set yet"):
        work.decide({})
    assert journal.under_way(plan.site) is None
