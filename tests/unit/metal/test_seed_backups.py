"""Backups of a seed: sealed, whole or not there, restored by consent, and never into another site or release."""

from __future__ import annotations

import base64
import gzip
import io
import json
import sqlite3
import tarfile
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import snapshot
from ansible_collections.groundup.cloud.plugins.module_utils._ironic.snapshot import IronicNode
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.seed import SeedBackup, SeedPart
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal, file_of, home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import State, WayStep
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish import digests
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import SecretsError, open_store

NOW = datetime(2026, 11, 23, 5, 0, tzinfo=UTC)
COLUMNS = "uuid, name, provision_state, maintenance, maintenance_reason, last_error, reservation, target_power_state"
NODES = {
    "worker-1": "active",
    "worker-2": "wait call-back",
    "worker-3": "deploying",
    "worker-4": "verifying",
    "": "enroll",
}
CALL = {"worker-1.json": b'{"called": 1}'}
SITE = COLLECTION / "inventories/lab-metal/site.yml"


def database(path: Path, nodes: dict[str, str] | None = None) -> Path:
    """Make what of Ironic's database is read here, with a write-ahead log and a lock that was left."""
    with closing(sqlite3.connect(path)) as made:
        made.execute("PRAGMA journal_mode=WAL")
        made.execute(f"CREATE TABLE nodes ({COLUMNS})")
        made.execute("CREATE TABLE alembic_version (version_num)")
        made.execute("INSERT INTO alembic_version VALUES ('r1')")
        for name, state in (NODES if nodes is None else nodes).items():
            row = (f"id-{name}", name or None, state, 0, None, None, "seed", "power off")
            made.execute("INSERT INTO nodes VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        made.commit()
    return path


@pytest.fixture
def packed(tmp_path: Path) -> bytes:
    return snapshot.pack(snapshot.copy(database(tmp_path / "copied.sqlite")), CALL, b"a lease\n")


@pytest.fixture(autouse=True)
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    (tmp_path / "password").write_text("of this test")
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(tmp_path / "password"))
    plan = make_plan(load_site(SITE))
    open_store(plan.site).ensure(["ironic/groundup"])
    return plan


def part(plan: Plan) -> SeedPart:
    """Return the part of ``plan``'s site; no host is to be asked."""
    return SeedPart(plan, lambda *_, **__: pytest.fail("no host is to be asked"))


def save(plan: Plan, packed: bytes) -> SeedBackup:
    return part(plan).save(packed, {}, now=NOW)


def knows(there: Mapping[str, IronicNode], schema: str = "r1") -> dict[str, Any]:
    """Return what a seed says of itself."""
    return {"nodes": {identity: asdict(node) for identity, node in there.items()}, "schema": schema, "changed": False}


def journal(plan: Plan, name: str, state: State) -> None:
    Journal(file_of(home_of(plan.site), name)).note(WayStep(state=state, verb="done"))


def test_a_copy_is_whole_while_somebody_writes(tmp_path: Path) -> None:
    path = database(tmp_path / "ironic.sqlite")
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("INSERT INTO nodes (uuid, provision_state) VALUES ('id-late', 'enroll')")  # not committed
        found = snapshot.parse(snapshot.pack(snapshot.copy(path), CALL, b""), where="here")
    assert found.nodes == {f"id-{name}": IronicNode(name=name, state=state) for name, state in NODES.items()}
    assert (found.schema, found.calls) == ("r1", CALL)
    assert found.counts == {"machines": 5, "active": 1, "calls": 1, "leases": 0}


def test_machines_that_something_went_on_with_are_on_hold_and_nothing_locks_or_switches(
    packed: bytes, tmp_path: Path
) -> None:
    data, names = snapshot.held(snapshot.parse(packed, where="here"), backup="T")
    assert names == ["worker-2", "worker-3"]
    (tmp_path / "held.sqlite").write_bytes(data)
    with closing(sqlite3.connect(tmp_path / "held.sqlite")) as found:
        assert found.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        rows = {row[1]: row for row in found.execute("SELECT * FROM nodes")}
    assert rows["worker-1"][2:] == ("active", 0, None, None, None, None)
    assert rows["worker-2"][2:4] == ("deploy failed", 1)
    assert rows["worker-3"][2:4] == ("deploy failed", 1)
    assert rows["worker-4"][2:5] == ("enroll", 0, None), "its controller was asked, the machine was not touched"
    assert rows["worker-2"][4].startswith("the backup T was taken while it was wait call-back")
    assert {row[6:] for row in rows.values()} == {(None, None)}


@pytest.mark.parametrize("name", ["../../etc/shadow", "machines/../x.json", "machines/A.json", "else"])
def test_no_other_file_is_taken_from_an_archive(packed: bytes, name: str) -> None:
    stream = io.BytesIO(gzip.decompress(packed))
    with tarfile.open(fileobj=stream, mode="a") as archive:
        archive.addfile(tarfile.TarInfo(name))
    with pytest.raises(GroundupError, match="is no part of it"):
        snapshot.parse(gzip.compress(stream.getvalue()), where="here")


@pytest.mark.parametrize(
    "damaged", [b"", b"no archive", gzip.compress(b"no archive", mtime=0)], ids=["empty", "text", "no tar"]
)
def test_what_is_no_whole_state_is_named(damaged: bytes) -> None:
    with pytest.raises(GroundupError, match="no whole state of a seed"):
        snapshot.parse(damaged, where="here")


def test_a_damaged_database_is_named(packed: bytes) -> None:
    found = snapshot.parse(packed, where="here")
    torn = snapshot.pack(found.database[: len(found.database) // 2], CALL, b"")
    with pytest.raises(GroundupError, match="no whole state of a seed"):
        snapshot.parse(torn, where="here")


def test_a_backup_is_sealed_this_user_s_alone_and_comes_back_as_it_was(plan: Plan, packed: bytes) -> None:
    assert plan.metal
    files = {plan.metal.image: "0" * 64, "kubernetes/kubeadm": "1" * 64}
    digests.save(plan.site, digests.PublishedDigests(files=files))
    kept = save(plan, packed)
    home = part(plan).shelf().home
    assert {path.stat().st_mode & 0o777 for path in home.iterdir()} == {0o600}
    assert (home / f"{kept.name}.tar.gz.vault").read_bytes().startswith(b"$ANSIBLE_VAULT;")
    assert kept.published == {plan.metal.image: "0" * 64}
    found, content, data = part(plan).load("newest")
    assert (found, data, content.leases) == (kept, packed, b"a lease\n")
    assert part(plan).verify(days=2, now=NOW + timedelta(days=1))["backup"]["name"] == kept.name
    with pytest.raises(GroundupError, match="the newest backup of the seed is 3 days old"):
        part(plan).verify(days=2, now=NOW + timedelta(days=3))


def test_another_password_opens_no_backup_and_another_store_is_another_site(
    plan: Plan, packed: bytes, tmp_path: Path
) -> None:
    kept = save(plan, packed)
    about = part(plan).shelf().home / f"{kept.name}.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"store": "another"}))
    with pytest.raises(GroundupError, match="another secrets store"):
        part(plan).load("newest")
    (tmp_path / "password").write_text("another")
    with pytest.raises(SecretsError):
        part(plan).load("newest")


def refused(
    plan: Plan, packed: bytes, *, there: Mapping[str, IronicNode] | None = None, force: Iterable[str] = (),
    seeds_schema: str = "r1", **changed: Any,
) -> str:  # fmt: skip
    """Return why a backup is not restored; "" when it is."""
    kept = save(plan, packed)
    about = part(plan).shelf().home / f"{kept.name}.json"
    about.write_text(json.dumps(asdict(kept) | changed))
    asked = SeedPart(plan, lambda *_, **__: knows(there or {}, seeds_schema))
    try:
        asked.restore(source="newest", force=list(force), go=False)
    except GroundupError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("schema", ["", "r1"])
def test_onto_a_seed_that_knows_nothing_a_backup_needs_no_consent(plan: Plan, packed: bytes, schema: str) -> None:
    assert refused(plan, packed, seeds_schema=schema) == ""


def test_machines_that_the_seed_knows_are_only_forgotten_or_set_back_with_consent(plan: Plan, packed: bytes) -> None:
    there = {"id-other": IronicNode(name="other", state="enroll"), "id-": IronicNode(name="", state="manageable")}
    said = refused(plan, packed, there=there)
    assert "one without a name (manageable), other (enroll) (overwrite)" in said
    assert '-e \'{"seed_restore_force": ["overwrite"]}\'' in said
    assert refused(plan, packed, there=there, force=["overwrite"]) == ""


def test_what_a_restore_made_itself_needs_no_consent_when_it_is_run_again(plan: Plan, packed: bytes) -> None:
    there = {
        "id-worker-1": IronicNode(name="worker-1", state="active"),
        "id-worker-2": IronicNode(name="worker-2", state="deploy failed"),
        "id-worker-3": IronicNode(name="worker-3", state="deploy failed"),
    }  # fmt: skip
    assert refused(plan, packed, there=there) == ""
    there["id-worker-2"] = IronicNode(name="worker-2", state="active")
    assert "worker-2 (active)" in refused(plan, packed, there=there), "it was installed since"


def test_a_machine_that_was_erased_since_would_count_as_installed(plan: Plan, packed: bytes) -> None:
    journal(plan, "worker-1", "retired")
    assert "worker-1 left since" in refused(plan, packed)
    assert refused(plan, packed, force=["outdated"]) == ""


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"site": "other"}, "of the site other"),
        ({"release": "38.0.0"}, "of Ironic 38.0.0, the site's is"),
        ({"schema": "r0"}, "has the schema r0, the seed's r1"),
    ],
)
def test_no_consent_is_enough_for_another_site_or_release(plan: Plan, packed: bytes, changed: Any, said: str) -> None:
    assert said in refused(plan, packed, force=SeedPart.codes, **changed)


def test_machines_installed_since_and_other_images_are_named(plan: Plan, packed: bytes) -> None:
    assert plan.metal
    digests.save(plan.site, digests.PublishedDigests(files={plan.metal.image: "0" * 64}))
    kept, found = save(plan, packed), snapshot.parse(packed, where="here")
    journal(plan, "worker-1", "installed")
    assert part(plan).advice(kept, found) == {"warnings": []}
    journal(plan, "worker-2", "installed")
    digests.save(plan.site, digests.PublishedDigests(files={plan.metal.image: "1" * 64}))
    newer, other = part(plan).advice(kept, found)["warnings"]
    assert newer.startswith("worker-2: installed after the backup")
    assert plan.metal.image in other


def test_a_seed_that_has_lost_its_machines_is_not_saved_over_good_backups(plan: Plan) -> None:
    lost = part(plan).refuse_lost
    lost(knows({}))
    journal(plan, "worker-1", "installed")
    with pytest.raises(GroundupError, match="the seed does not know worker-1"):
        lost(knows({"id": IronicNode(name="worker-2", state="active")}))
    lost(knows({"id": IronicNode(name="worker-1", state="active")}))
    journal(plan, "worker-1", "retired")
    lost = part(plan).refuse_lost
    lost(knows({}))


def stepped(plan: Plan, nodes: Mapping[str, IronicNode], packed: bytes, *, force: Iterable[str] = ()) -> list[str]:
    """Return the steps that the seed is asked for by a restore, also when it is refused."""
    asked: list[str] = []

    def on_host(step: str, **own: Any) -> dict[str, Any]:
        asked.append(f"{step} {len(own.get('content', '')) > 0}")
        content = {"content": base64.b64encode(packed).decode()} if step == "take" else {}
        return {**knows(nodes), "changes": [], **content}

    try:
        SeedPart(plan, on_host).restore(source="newest", force=list(force), go=True)
    except GroundupError as error:
        asked.append(error.what)
    return asked


def test_a_backup_is_sent_only_when_nothing_stands_against_it_and_what_is_there_is_saved_before(
    plan: Plan, packed: bytes
) -> None:
    save(plan, packed)
    assert stepped(plan, {}, packed) == ["check False", "restore True"]
    there = {"id-x": IronicNode(name="x", state="enroll")}
    first, refusal = stepped(plan, there, packed)
    assert (first, "x (enroll)" in refusal) == ("check False", True)
    assert stepped(plan, there, packed, force=["overwrite"]) == ["check False", "take False", "restore True"]
    assert part(plan).load("newest")[0].name == NOW.strftime("%Y%m%dT%H%M%SZ"), "what was replaced is elsewhere"
    assert len(part(plan).shelf(replaced=True).names()) == 1
