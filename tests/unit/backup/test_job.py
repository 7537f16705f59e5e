"""Steps of module backup_set without a cluster: what is verified, tested as far as it can be, and opened."""

from __future__ import annotations

import io
import json
import stat
import tarfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import documented
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.logs.disk import LogShelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore import journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets import disk, job, state, take
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.disk import SetBackup, SetShelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.handed import Handed
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.take import credentials
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.write import alone
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import BackupPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.status.backup_sets import set_rows
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store

Make = Callable[..., SetBackup]
OK = {"state": "ok", "what": ""}


def work(plan: Plan, **options: Any) -> job.BackupJob:
    defaults = {name: option.get("default") for name, option in documented("backup_set").items()}
    return job.BackupJob(plan, {**defaults, "site_file": "site.yml", **options}, Changes(check=False))


def test_verification_names_what_is_old_untested_and_on_the_same_disk(
    plan: Plan, shelf: SetShelf, made: Make, tmp_path: Path
) -> None:
    with pytest.raises(GroundupError, match="no backup set yet"):
        work(plan).verify()
    backup = made(datetime.now(UTC))
    said = work(plan).verify()
    assert [one.partition(":")[0] for one in said["warnings"]] == [
        "sets are on this machine's own disk, and are lost with it (no-target-off-host)",
        f"nobody tested that the set {backup.name} restores",
    ]
    assert "key" not in said["backup"]
    disk.write_tested(shelf.home / backup.name, {"state": "not run", "parts": {"etcd": {**OK, "state": "not run"}}})
    assert "was not tested whole: etcd" in work(plan).verify()["warnings"][1]
    disk.write_tested(
        shelf.home / backup.name, {"state": "damaged", "parts": {"etcd": {"state": "damaged", "what": "no"}}}
    )
    with pytest.raises(GroundupError, match=r"backup-damaged.: it failed its restore test: etcd: no"):
        work(plan).verify()
    with pytest.raises(GroundupError, match=r"backup-too-old.: etcd 0\.0 days, kubernetes-keys 0\.0 days"):
        work(plan, days=0.0).verify()
    with pytest.raises(GroundupError, match="the directory for backups is not there"):
        work(plan, directory=str(tmp_path / "not-mounted")).take({})


@pytest.mark.parametrize("ahead", [timedelta(hours=1), timedelta(days=4000)])
def test_a_set_of_a_time_that_has_not_come_is_no_newest_and_no_set_goes_for_it(
    plan: Plan, shelf: SetShelf, made: Make, ahead: timedelta
) -> None:
    good = made(datetime.now(UTC))
    late = made(datetime.now(UTC) + ahead)
    steps: tuple[Callable[[], object], ...] = (
        lambda: work(plan, keep=1).take({}), lambda: work(plan).verify(),
        lambda: work(plan, source="newest").test(say=lambda _: None),
    )  # fmt: skip
    for step in steps:
        with pytest.raises(GroundupError, match=rf"{late.name}: .*backup-of-the-future"):
            step()
    assert shelf.names() == [late.name, good.name]
    assert shelf.find(good.name)[0] == good, "by its name it is to be had"
    (shelf.home / late.name).rename(shelf.home / "wrong")
    work(plan).verify()


def test_binary_logs_that_cannot_be_read_end_no_backup(
    plan: Plan, shelf: SetShelf, made: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(plan.site, write=False)
    stream = LogShelf(shelf.home).begin(site=plan.site, store=store, member="m", history="h", why="")
    (stream.place / "stream.json").write_text("{")
    members = []
    monkeypatch.setattr(take.Sources, "find", lambda *_, member, **__: members.append(member))
    monkeypatch.setattr(take, "take", lambda *_: made())
    done = work(plan, keep=9).take({})
    told = [one for one in done["warnings"] if one.startswith("binary logs have no description (logs-damaged)")]
    assert (len(told), members, done["backup"]["name"]) == (1, [""], shelf.names()[0])


def test_a_restore_that_begins_when_the_set_is_written_keeps_old_sets(
    plan: Plan, shelf: SetShelf, made: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = made(datetime.now(UTC) - timedelta(days=1))

    def take_and_restore(*_: object) -> SetBackup:
        taken = made()
        about: dict[str, Any] = {"sha256": old.sha256, "parts": ["etcd"], "until": ""}
        journal.begin(plan.site, None, source=old.name, **about)
        return taken

    monkeypatch.setattr(take.Sources, "find", lambda *_, **__: None)
    monkeypatch.setattr(take, "take", take_and_restore)
    done = work(plan, keep=1).take({})
    assert shelf.names() == [done["backup"]["name"], old.name]
    assert done["warnings"][1].startswith(f"nothing old is removed: a restore of etcd from {old.name} has begun")
    journal.end(plan.site)
    monkeypatch.setattr(take, "take", lambda *_: made(datetime.now(UTC) + timedelta(seconds=2)))
    prune = SetShelf.prune

    def guarded(*given: Any, **more: Any) -> list[str]:
        with pytest.raises(GroundupError, match="another backup of this site runs"), alone(plan.site):
            pass
        return prune(*given, **more)

    monkeypatch.setattr(SetShelf, "prune", guarded)
    done = work(plan, keep=1).take({})
    assert shelf.names() == [done["backup"]["name"]]


def test_nothing_is_removed_in_the_bucket_while_a_restore_is_under_way(
    plan: Plan, made: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = made()
    bucket = SimpleNamespace(where="a bucket", upload=lambda *_: True, prune=lambda *_, **__: ["of-before"])
    monkeypatch.setattr(job.BackupJob, "_bucket", lambda *_: bucket)
    target: Any = SimpleNamespace()
    copied = replace(plan, backups=BackupPlan(s3=target))
    assert "remove of-before in a bucket" in work(copied).upload()["changes"]
    journal.begin(plan.site, None, source=backup.name, sha256=backup.sha256, parts=["etcd"], until="")
    done = work(copied).upload()
    assert done["changes"] == [f"copy the set {backup.name} to a bucket"]
    assert done["warnings"][0].startswith("nothing old is removed: a restore of etcd")


def test_logs_go_with_their_sets_from_the_log_on_that_a_set_ends_in(
    plan: Plan, shelf: SetShelf, made: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    about, kept = shelf.home / made(datetime.now(UTC) - timedelta(days=1)).name / disk.ABOUT, list[tuple[str, ...]]()

    def prune(_: LogShelf, __: datetime, ends: Iterable[tuple[str, str, str]]) -> list[str]:
        kept.extend(ends)
        return []

    said = json.loads(about.read_text())
    said["parts"]["mariadb"] |= {"source": "pod m-0, container c", "log": {"history": "h", "file": "binlog.000003"}}
    about.write_text(json.dumps(said))
    monkeypatch.setattr(take.Sources, "find", lambda *_, **__: None)
    monkeypatch.setattr(take, "take", lambda *_: made())
    monkeypatch.setattr(LogShelf, "prune", prune)
    work(plan, keep=9).take({})
    assert kept == [("h", "m-0", "binlog.000003")]


def test_a_set_without_a_part_of_the_plan_is_damaged(plan: Plan, made: Make) -> None:
    made(datetime.now(UTC), parts=("kubernetes-keys", "state", "rabbitmq", "etcd"))
    with pytest.raises(GroundupError, match="it has no part openstack-keys, mariadb"):
        work(plan).verify()


def test_parts_are_opened_for_nobody_else_and_never_over_others(plan: Plan, made: Make, tmp_path: Path) -> None:
    made(datetime.now(UTC))
    into = tmp_path / "opened"
    done = work(plan, into=str(into), parts=["etcd"]).open()
    assert done["opened"] == [str(into / "etcd.db")]
    assert (into / "etcd.db").read_bytes() == b"etcd"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (into, into / "etcd.db")] == [0o700, 0o600]
    with pytest.raises(GroundupError, match="is there already"):
        work(plan, into=str(into)).open()
    with pytest.raises(GroundupError, match="has no part ceph"):
        work(plan, into=str(tmp_path / "other"), parts=["etcd", "ceph"]).open()
    assert not (tmp_path / "other").exists()


def test_a_lost_controller_opens_a_set_with_the_password_alone(
    plan: Plan, shelf: SetShelf, made: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = made(datetime.now(UTC))
    kept = tmp_path / "kept"
    (shelf.home / backup.name).rename(kept)
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "new"))
    work(plan, into=str(tmp_path / "opened"), source=str(kept)).open()
    assert (tmp_path / "opened/mariadb.mbstream").read_bytes() == b"mariadb"
    (tmp_path / "password").write_text("another")
    with pytest.raises(GroundupError, match="it does not open"):
        work(plan, into=str(tmp_path / "again"), source=str(kept)).open()


def test_a_part_that_cannot_be_tested_is_told_and_a_damaged_one_fails(
    plan: Plan, shelf: SetShelf, made: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup, lines = made(datetime.now(UTC)), list[str]()
    monkeypatch.setattr("ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.scratch_etcd.lacking",
                        lambda: "no programs")  # fmt: skip
    with pytest.raises(GroundupError, match="the restore test failed: kubernetes-keys: "):
        work(plan).test(say=lines.append)  # its keys are no archive
    found = disk.tested(shelf.home / backup.name)
    assert found
    assert (found["state"], found["parts"]["etcd"]) == ("damaged", {"state": "not run", "what": "no programs"})
    assert found["parts"]["mariadb"]["state"] == "not run", "there is no kubeconfig"
    assert len(lines) == len(backup.parts) == 6


def test_the_state_of_the_controller_is_saved_without_the_password(plan: Plan, tmp_path: Path) -> None:
    home, site_file, packed = state_dir(plan.site), tmp_path / "site.yml", io.BytesIO()
    site_file.write_text("site")
    for name in ("lab/c/disk", "backups/ovn/x", "metal/m.json", ".backup.lock", "vault-password"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("x")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(home / "vault-password"))
        files = state.files(plan.site, str(site_file))
    about = state.take(files, packed.write)
    found = state.names([packed.getvalue()[:700], packed.getvalue()[700:]])
    assert {"secrets.yml", "secrets.pub", "metal/m.json", "site-file/site.yml"} == set(found)
    assert state.judge(state.NEEDED, about, found) == []
    assert state.judge(("secrets.yml",), about, found[:1]) == [
        *(["secrets.yml is missing"] if found[0] != "secrets.yml" else []), "it has 1 files, at the backup it had 4",
    ]  # fmt: skip
    with pytest.raises(tarfile.TarError):
        state.names([b"x" * 5000])


def test_a_host_without_a_credential_of_etcd_is_named() -> None:
    packed = io.BytesIO()
    tarfile.open(fileobj=packed, mode="w").close()
    with pytest.raises(GroundupError, match="control-1 lacks a credential of etcd"):
        credentials(Handed(part="kubernetes-keys", host="control-1", said={}, content=packed.getvalue()))


def test_status_has_a_row_a_part(plan: Plan, shelf: SetShelf, made: Make) -> None:
    (row,) = set_rows(plan, days=2)
    assert (row.state, row.what) == ("warning", "no set yet: nothing of the cluster is saved")
    now = datetime.now(UTC)
    backup = made(now)
    disk.write_tested(
        shelf.home / backup.name, {"state": "ok", "parts": {"etcd": OK, "state": {**OK, "state": "damaged"}}}
    )
    rows = {row.name: row for row in set_rows(plan, days=2)}
    assert {name: row.state for name, row in rows.items()} == {
        "kubernetes-keys": "warning", "state": "broken", "rabbitmq": "warning",
        "openstack-keys": "warning", "mariadb": "warning", "etcd": "ok", "sets": "warning",
    }  # fmt: skip
    assert rows["etcd"].what.endswith("old, restore test: ok")
    assert rows["mariadb"].what.endswith("not tested that it restores")
    late = {row.name: row for row in set_rows(plan, days=2, now=now + timedelta(days=3))}
    assert (late["etcd"].state, late["etcd"].what[:6]) == ("warning", "3 days")
    (shelf.home / backup.name / "etcd.sealed").write_bytes(b"")
    assert {row.name: row.state for row in set_rows(plan, days=2)}["etcd"] == "broken"
    (gone,) = set_rows(replace(plan, backup_directory="/nowhere/backups"), days=2)
    assert (gone.state, gone.what) == ("broken", "the directory for backups is not there: /nowhere/backups")
