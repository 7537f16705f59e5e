"""Backups of the northbound database: whole or not there, restored by consent, and never into another site."""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.filter.backup_leaders import backup_leaders
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ovn import backup, databases, snapshot, status
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.ovn import OvnBackup, OvnPart
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.neutron import sync_command

from .test_snapshot import EMPTY, dump

NOW = datetime(2026, 11, 22, 17, 0, tzinfo=UTC)


PLAN = make_plan(load_site(COLLECTION / "inventories/lab/site.yml"))
PART = OvnPart(PLAN, lambda *_, **__: pytest.fail("no host is to be asked"))


def saved(*switches: str, at: datetime = NOW, version: str = "7.11.0", cluster: str = "cid-nb") -> OvnBackup:
    return PART.save(gzip.compress(dump(*switches, version=version)), {"cluster": cluster}, now=at)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    return tmp_path / "lab/backups/ovn-nb"


def test_a_backup_is_this_users_alone_and_comes_back_as_it_was(state: Path) -> None:
    kept = saved("neutron-a")
    assert {path.stat().st_mode & 0o777 for path in state.iterdir()} == {0o600}
    assert state.stat().st_mode & 0o777 == 0o700
    found, _, data = PART.load("newest")
    assert (found, gzip.decompress(data)) == (kept, dump("neutron-a"))
    assert found.taken == NOW


def test_a_damaged_snapshot_is_not_kept(state: Path) -> None:
    with pytest.raises(GroundupError, match="no whole snapshot"):
        PART.save(gzip.compress(dump("a")[:-3]), {"cluster": "cid-nb"}, now=NOW)
    assert not state.exists()


def test_the_newest_stay_and_halves_of_killed_runs_go(state: Path) -> None:
    for hour in range(4):
        saved("a", at=NOW + timedelta(hours=hour))
    (state / "20261121T000000Z.db.gz").write_bytes(b"half")
    assert PART.shelf().prune(2) == ["20261122T180000Z", "20261122T170000Z"]
    assert PART.shelf().names() == ["20261122T200000Z", "20261122T190000Z"]
    assert len(list(state.iterdir())) == 4
    assert PART.shelf().prune(0) == []


def test_another_byte_in_the_file_is_named(state: Path) -> None:
    kept = saved("a")
    (state / f"{kept.name}.db.gz").write_bytes(gzip.compress(dump("b")))
    with pytest.raises(GroundupError, match="its SHA-256 is another"):
        PART.load(kept.name)


def test_a_backup_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(GroundupError, match=r"groundup\.cloud\.network_backup"):
        PART.load("newest")
    saved("a")
    with pytest.raises(GroundupError, match="name one of 20261122T170000Z"):
        PART.load("20250101T000000Z")


def test_a_copy_elsewhere_is_named_by_its_file(state: Path, tmp_path: Path) -> None:
    kept = saved("a")
    for path in list(state.iterdir()):
        path.rename(tmp_path / path.name)
    assert PART.load(str(tmp_path / f"{kept.name}.json"))[0] == kept


def test_verification_fails_for_an_old_backup() -> None:
    saved("a")
    assert PART.verify(days=2, now=NOW + timedelta(days=1))["backup"]["name"] == "20261122T170000Z"
    with pytest.raises(GroundupError, match="is 3 days old"):
        PART.verify(days=2, now=NOW + timedelta(days=3))


def refused(
    kept: OvnBackup, *, counts: dict[str, int] = EMPTY, force: Iterable[str] = (), schema: str = "7.11.0"
) -> str:
    """Return why a backup is not restored; "" when it is."""
    (PART.shelf().home / f"{kept.name}.json").write_text(json.dumps(asdict(kept)))
    here = {"leader": True, "cluster": "cid-nb", "schema": schema, "counts": counts, "changed": False}
    try:
        OvnPart(PLAN, lambda *_, **__: here).restore(source=kept.name, force=list(force), go=False)
    except GroundupError as error:
        return str(error)
    return ""


def test_into_an_empty_database_of_its_cluster_a_backup_needs_no_consent() -> None:
    assert refused(saved("a")) == ""


def test_what_was_made_since_is_only_taken_away_with_consent() -> None:
    there = {**EMPTY, "Logical_Switch": 3}
    said = refused(saved("a"), counts=there)
    assert "3 Logical_Switch" in said
    assert '-e \'{"network_restore_force": ["overwrite"]}\'' in said
    assert refused(saved("a"), counts=there, force=["overwrite"]) == ""


def test_a_backup_of_another_cluster_needs_the_word_that_the_former_is_lost() -> None:
    kept = saved("a", cluster="cid-former")
    assert "taken from the cluster cid-former, the site's is cid-nb" in refused(kept, force=["overwrite"])
    assert refused(kept, force=["new-cluster"]) == ""


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"site": "other"}, "of the site other"),
        ({"database": "OVN_Southbound"}, "of OVN_Southbound"),
        ({"schema": "7.12.0"}, "schema 7.12.0 is newer than 7.11.0"),
    ],
)
def test_no_consent_is_enough_for_another_site_database_or_a_newer_schema(changed: Any, said: str) -> None:
    assert said in refused(replace(saved("a"), **changed), force=OvnPart.codes)


def test_a_risk_that_there_is_not_cannot_be_accepted() -> None:
    assert "no risk outdated to accept" in refused(saved("a"), force=["outdated"])


def test_an_older_schema_is_welcome() -> None:
    assert refused(replace(saved("a"), schema="7.3.1")) == ""


class Leader:
    """The member that leads, and the programs that ask it."""

    def __init__(self, *switches: str) -> None:
        self.switches = switches
        self.role = "leader"
        self.calls: list[str] = []
        self.loaded = b""

    def ask(self, _: object) -> status.Status:
        return status.Status(
            cluster="cid-nb", state="cluster member", role=self.role, leader="self", election_timer=4000,
            behind=0, servers={},
        )  # fmt: skip

    def run(self, argv: Sequence[str], **_: object) -> str:
        verb = next(word for word in argv[1:] if word in (
            "backup", "query", "get-schema", "get-schema-version", "convert"
        ))  # fmt: skip
        self.calls.append(verb)
        if verb == "query":
            tables = [one["table"] for one in json.loads(argv[-1])[1:]]
            names = {"Logical_Switch": self.switches}
            return json.dumps([{"rows": [{"name": name} for name in names.get(table, ())]} for table in tables])
        return {"backup": dump(*self.switches).decode(), "get-schema-version": "7.11.0\n"}.get(verb, "{}")

    def restore(self, argv: Sequence[str], stdin: Any = None, **_: object) -> subprocess.CompletedProcess[bytes]:
        self.calls.append("restore")
        self.loaded = stdin.read()
        self.switches = tuple(snapshot.parse(self.loaded, where="here").names["Logical_Switch"])
        return subprocess.CompletedProcess(argv, 0, b"", b"")


@pytest.fixture
def leader(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Leader:
    found = Leader("now")
    monkeypatch.setattr(status, "ask", found.ask)
    monkeypatch.setattr(backup, "run", found.run)
    monkeypatch.setattr(backup, "DATA", tmp_path)
    monkeypatch.setattr(subprocess, "run", found.restore)
    return found


KNOWN = {"clusters": {"nb": "cid-nb"}}


def packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data)).decode()


def test_the_leader_alone_is_asked(leader: Leader) -> None:
    taken = backup.take(Changes(check=False), KNOWN)
    assert gzip.decompress(base64.b64decode(taken["content"])) == dump("now")
    assert (taken["leader"], taken["cluster"], taken["schema"]) == (True, "cid-nb", "7.11.0")
    leader.role = "follower"
    leader.calls.clear()
    assert backup.take(Changes(check=False), KNOWN) == {"changed": False, "leader": False, "changes": [], "diff": []}
    assert leader.calls == []


def test_a_member_of_another_cluster_is_refused(leader: Leader) -> None:
    with pytest.raises(GroundupError, match="the site's is another"):
        backup.take(Changes(check=False), {"clusters": {"nb": "another"}})
    assert leader.calls == []


def test_a_dry_run_reads_no_database(leader: Leader) -> None:
    assert backup.take(Changes(check=True), KNOWN)["changes"] == ["save OVN_Northbound"]
    assert backup.restore(Changes(check=True), {**KNOWN, "content": ""})["changes"] == [
        "replace what OVN_Northbound has by the backup"
    ]
    assert {"backup", "restore"}.isdisjoint(leader.calls)


def test_a_restore_is_what_the_backup_was_and_leaves_no_file(leader: Leader, tmp_path: Path) -> None:
    found = backup.restore(Changes(check=False), {**KNOWN, "content": packed(dump("then"))})
    assert (leader.loaded, leader.switches) == (dump("then"), ("then",))
    assert found["counts"]["Logical_Switch"] == 1, "of before"
    assert "convert" not in leader.calls
    assert list(tmp_path.iterdir()) == []


def stepped(*, counts: dict[str, int], leads: Sequence[str] = (), go: bool = True) -> list[str]:
    """Return the steps that the host is asked for by a restore, also when it is refused."""
    asked: list[str] = []

    def on_host(step: str, *, clusters: dict[str, str], content: str = "", **_: Any) -> dict[str, Any]:
        assert clusters == {}, "there is no record of them"
        asked.append(f"{step} {len(content) > 0}")
        leader = not leads or step in leads
        return {"leader": leader, "cluster": "cid-nb", "schema": "7.11.0", "counts": counts, "changed": False}

    try:
        OvnPart(PLAN, on_host).restore(source="newest", force=[], go=go)
    except GroundupError as error:
        asked.append(error.what)
    return asked


def test_a_backup_is_sent_to_the_host_only_when_nothing_stands_against_it() -> None:
    saved("a")
    assert stepped(counts=EMPTY) == ["check False", "take False", "restore True"]
    first, refusal = stepped(counts={**EMPTY, "Logical_Router": 1})
    assert (first, "1 Logical_Router" in refusal) == ("check False", True)
    assert stepped(counts=EMPTY, go=False) == ["check False"]


def test_nothing_is_replaced_that_was_not_saved_just_before() -> None:
    saved("a")
    assert stepped(counts=EMPTY, leads=["check", "restore"]) == ["check False", "take False"]


def test_a_damaged_backup_is_named_before_any_host_is_asked(state: Path) -> None:
    kept = saved("a")
    (state / f"{kept.name}.db.gz").write_bytes(b"")
    (only,) = stepped(counts=EMPTY)
    assert "SHA-256" in only


def test_an_older_backup_is_converted_to_the_databases_schema_first(leader: Leader) -> None:
    backup.restore(Changes(check=False), {**KNOWN, "content": packed(dump("then", version="7.3.1"))})
    assert leader.calls.index("get-schema") < leader.calls.index("convert") < leader.calls.index("restore")


def test_what_did_not_come_back_is_named(leader: Leader) -> None:
    wanted = snapshot.parse(dump("a", "b"), where="here")
    assert backup.lacking(wanted, backup.names()) == "2 of Logical_Switch (a)"
    assert leader.calls == ["query"]


def test_the_next_command_says_whether_anything_is_changed() -> None:
    said = sync_command("openstack", "log")
    assert said.startswith(
        "kubectl -n openstack exec deploy/neutron-ovn-maintenance-worker -- neutron-ovn-db-sync-util "
    )
    assert "--config-dir /etc/neutron/neutron.conf.d --ovn-neutron_sync_mode log" in said


def test_the_database_is_the_one_that_all_else_is_made_from() -> None:
    assert databases.NB.name == "OVN_Northbound"


def test_who_leads_is_who_says_so_and_neither_a_failed_nor_a_silent_host() -> None:
    said: dict[str, Any] = {
        "control-1": {"leader": True}, "control-2": {"leader": False}, "control-3": {"unreachable": True},
    }  # fmt: skip
    variables = {host: {"backup_said": result} for host, result in said.items()} | {"control-4": {}}
    assert backup_leaders(variables, list(variables)) == ["control-1"]
    assert backup_leaders(variables, ["control-2", "control-4"]) == []
