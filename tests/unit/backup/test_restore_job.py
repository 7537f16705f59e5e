"""A restore on the controller: refused, begun, gone on with; and the state directory, put back where there is none."""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import tarfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import documents, keys
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import EncryptionKey
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import documented
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.logs.disk import LogShelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore import anew, journal, state
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore.job import RestoreJob
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.disk import SetBackup, SetShelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.job import BackupJob
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.write import alone, writing
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import run_lease
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.access import kubeconfig_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import ApiError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import BackupPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import journal as upgrade
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault.names import ENCRYPTION_KEY

Make = Callable[..., SetBackup]


def job(plan: Plan, *, check: bool = False, **options: Any) -> RestoreJob:
    return RestoreJob(plan, given(parts=["kubernetes-keys"]) | options, Changes(check=check), say=lambda _: None)


def given(**options: Any) -> dict[str, Any]:
    defaults = {name: option.get("default") for name, option in documented("backup_set").items()}
    return {**defaults, "site_file": "site.yml", **options}


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


KEYS = ("pki/ca.crt", "pki/ca.key", "pki/etcd/ca.key", "pki/sa.key")


BLANK = {"member": False, "anew": True, "etcd_data": False, "now": {}, "passed": {}, "keys": False, "image": ""}
WHOLE = ["kubernetes-keys", "etcd"]


@pytest.fixture
def answers(plan: Plan) -> dict[str, Any]:
    """Every control host was made anew."""
    control = [name for name, one in plan.hosts.items() if "control" in one.roles]
    return dict.fromkeys([*control, "control-8", "control-9"], BLANK)


def keyed(made: Make, plan: Plan, secret: str = "", *, now: datetime | None = None) -> SetBackup:
    """Make a set with Kubernetes' keys; ``secret``: of Secrets at rest."""
    texts = dict.fromkeys(KEYS, "x")
    if secret:
        texts[keys.ENCRYPTION] = documents.encryption_config([EncryptionKey(name="site-1", secret=secret)])
    versions = {"Kubernetes": plan.kubernetes.version}
    return made(now, contents={"kubernetes-keys": _archive(**texts)}, versions=versions)


def test_the_first_of_control_hosts_that_were_all_made_anew_gets_the_keys(
    plan: Plan, made: Make, answers: dict[str, Any]
) -> None:
    keyed(made, plan)
    found = job(plan, parts=WHOLE, check=True).decide(answers)
    assert found["keyed"] == [found["target"]] == [plan.kubernetes.first_control]
    assert found["steps"][-1] == "join as new members of etcd: control-8, control-9"
    assert not [name for name in found if hasattr(dict, name)], "the playbook would read the method of that name"
    name = job(plan, parts=WHOLE).decide(answers)["restore"]
    passed = {host: {**BLANK, "passed": {"restore": name, "did": "left"}} for host in ("control-8", "control-9")}
    put = {**BLANK, "etcd_data": True, "passed": {"restore": name, "did": "put"}}
    again = job(plan, parts=WHOLE).decide({**dict.fromkeys(answers, put), **passed})
    assert (again["keyed"], again["leaves"], again["stops"]) == ([found["target"]], [], [])
    job(plan).end()
    lives = {**answers, "control-9": {**BLANK, "anew": False, "member": True, "keys": True}}
    assert job(plan, parts=WHOLE[:1], check=True).decide(lives)["keyed"] == ["control-9"]


def test_a_set_whose_secrets_the_other_control_hosts_could_not_read_is_refused(
    plan: Plan, made: Make, answers: dict[str, Any]
) -> None:
    open_store(plan.site).ensure([ENCRYPTION_KEY])
    assert plan.kubernetes.encrypt_secrets
    keyed(made, plan, open_store(plan.site, write=False).get(ENCRYPTION_KEY))
    assert job(plan, parts=WHOLE, check=True).decide(answers)["steps"]
    other = keyed(made, plan, "b3RoZXI=", now=datetime.now(UTC) - timedelta(hours=1)).name
    with pytest.raises(GroundupError, match="its Secrets at rest need other keys than control hosts get"):
        job(plan, parts=WHOLE, check=True, source=other, force=["other-secrets"]).decide(answers)


def test_a_set_without_keys_makes_no_cluster(plan: Plan, made: Make, answers: dict[str, Any]) -> None:
    made(parts=("etcd",), versions={"Kubernetes": plan.kubernetes.version})
    with pytest.raises(
        GroundupError, match=r"its part kubernetes-keys lacks pki/ca\.key, pki/etcd/ca\.key, pki/sa\.key"
    ):
        job(plan, parts=["etcd"]).decide(answers)


def test_an_api_that_answers_is_a_cluster_that_lives(
    plan: Plan, made: Make, answers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    keyed(made, plan)
    kubeconfig_path(plan.site).write_text("")

    def text(self: Any, _path: str) -> str:
        raise ApiError("", where=self.server, status=self.status)

    values = {"__init__": lambda *_, **__: None, "server": "https://10.0.0.2:6443", "text": text, "status": 0}
    stub: Any = type("Stub", (), values)
    monkeypatch.setattr(anew, "Api", stub)
    monkeypatch.setattr(anew, "known_ca", lambda _: None)
    assert job(plan, parts=WHOLE, check=True).decide(answers)["steps"], "nobody answers"
    stub.status = 401
    with pytest.raises(GroundupError, match=r"the site's Kubernetes answers at https://10\.0\.0\.2:6443"):
        job(plan, parts=WHOLE).decide(answers)
    assert journal.under_way(plan.site) is None
    stub.status = 0
    name = job(plan, parts=WHOLE).decide(answers)["restore"]
    put = {**BLANK, "etcd_data": True, "passed": {"restore": name, "did": "put"}}
    stub.status = 401
    with pytest.raises(GroundupError, match="its etcd lives on a host that was not asked"):  # nothing runs on the first
        job(plan, parts=WHOLE).decide({**answers, plan.kubernetes.first_control: put})


def test_a_damaged_set_unknown_parts_and_another_sites_set_are_refused(plan: Plan, shelf: SetShelf, made: Make) -> None:
    backup = made()
    with pytest.raises(GroundupError, match="no part rabbitmq to restore"):
        job(plan, parts=["rabbitmq"])
    file = shelf.home / backup.name / "etcd.sealed"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(GroundupError, match=r"backup-damaged.: part etcd has another SHA-256"):
        job(plan).decide({})
    other = made(datetime(2026, 1, 1, tzinfo=UTC), site="elsewhere")
    with pytest.raises(GroundupError, match="backup-of-another-site"):
        job(plan, source=other.name)


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
    path.write_text(json.dumps({**said, "run": run_lease.identity(os.getpid())}))  # alive, not our parent
    with pytest.raises(GroundupError, match="a restore is under way: of "):
        job(plan).decide({})
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


def _archive(*names: str, **texts: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in {**{name: name for name in names}, **texts}.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(text), 0o600
            archive.addfile(member, io.BytesIO(text.encode()))
    return packed.getvalue()


def test_a_state_is_put_back_whole_and_never_over_a_living_one(plan: Plan, tmp_path: Path, monkeypatch: Any) -> None:
    with pytest.raises(GroundupError, match="this control node has a state of the site"):
        state.put(plan.site, [_archive("secrets.yml")])
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "new"))
    with pytest.raises(GroundupError, match=r"the set's state has no secrets\.yml"):
        state.put(plan.site, [_archive("ca.crt")])
    home = state_dir(plan.site)
    (home / "ssh").mkdir()
    (home / "ssh/id_ed25519").write_text("of a killed run")
    content = _archive("secrets.yml", "ssh/id_ed25519", "site-file/site.yml", journal.FILE, *upgrade.FILES)
    assert state.put(plan.site, [content[:700], content[700:]]) == 2
    found = sorted(str(one.relative_to(home)) for one in home.rglob("*") if one.is_file())
    assert found == ["secrets.yml", "ssh/id_ed25519"]
    assert (home / "ssh/id_ed25519").read_text() == "ssh/id_ed25519"


def test_a_state_directory_that_the_lock_makes_is_for_nobody_else(plan: Plan, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "new"))
    with alone(plan.site):
        assert stat.S_IMODE(state_dir(plan.site).stat().st_mode) == 0o700


def test_a_name_outside_of_the_state_directory_is_not_written(plan: Plan, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "new"))
    with pytest.raises(GroundupError, match="is no file below it"):
        state.put(plan.site, [_archive("../../escaped", "secrets.yml")])
    assert not (state_dir(plan.site) / "secrets.yml").exists()
