"""What a seed does with a backup: saves while it is in use, restores, predicts."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import backup as on_seed
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import configuration, netboot, service, snapshot

from .test_seed_backups import CALL, database

GIVEN = {"source": "T", "port": 6388}


@pytest.fixture
def seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A seed in a directory; return what its units are asked for."""
    state, leases, asked = tmp_path / "ironic", tmp_path / "netboot/leases", list[str]()
    (state / "machines").mkdir(parents=True)
    leases.parent.mkdir()
    for name, content in CALL.items():
        (state / "machines" / name).write_bytes(content)
    leases.write_bytes(b"a lease\n")
    monkeypatch.setattr(configuration, "STATE", state)
    monkeypatch.setattr(configuration, "DATABASE", database(state / "ironic.sqlite"))
    monkeypatch.setattr(on_seed, "CALLS", state / "machines")
    monkeypatch.setattr(on_seed, "LEASES", leases)
    running = {"ironic.service", netboot.UNIT.name}
    monkeypatch.setattr(on_seed, "control", lambda verb, unit: asked.append(f"{verb} {unit}"))
    monkeypatch.setattr(
        on_seed, "properties", lambda unit, _: {"ActiveState": "active" if unit in running else "inactive"}
    )
    monkeypatch.setattr(service, "ironic_answers", lambda port: asked.append(f"answers {port}"))
    return asked


def test_a_restore_puts_back_what_was_there_and_starts_what_it_stopped(seed: list[str]) -> None:
    taken = on_seed.take(Changes(check=False), {})
    before = snapshot.parse(base64.b64decode(taken["content"]), where="here")
    (on_seed.CALLS / "stranger.json").write_text("{}")
    on_seed.LEASES.unlink()
    configuration.DATABASE.unlink()
    database(configuration.DATABASE, {"stranger": "active"})
    configuration.DATABASE.with_name("ironic.sqlite-wal").write_bytes(b"of the former")
    done = on_seed.restore(Changes(check=False), {"content": taken["content"], **GIVEN})
    assert done["held"] == ["worker-2", "worker-3"]
    assert on_seed.check(Changes(check=True), {})["nodes"].keys() == before.nodes.keys()
    assert [path.name for path in on_seed.CALLS.iterdir()] == ["worker-1.json"]
    assert on_seed.LEASES.read_bytes() == b"a lease\n"
    assert configuration.DATABASE.stat().st_mode & 0o777 == 0o600
    stops = ["stop ironic.service", f"stop {netboot.UNIT.name}"]
    assert seed == [*stops, "start ironic.service", f"start {netboot.UNIT.name}", "start groundup-contact.service",
                    "answers 6388"]  # fmt: skip


def test_a_dry_run_reads_no_secret_and_stops_nothing(seed: list[str]) -> None:
    assert on_seed.take(Changes(check=True), {})["changes"] == ["save what the seed knows of machines"]
    said = on_seed.restore(Changes(check=True), {"content": "", **GIVEN})
    assert said["changes"] == ["replace what the seed knows of machines by the backup"]
    assert seed == []


def test_a_seed_without_ironic_is_not_saved(seed: list[str]) -> None:
    configuration.DATABASE.unlink()
    assert on_seed.check(Changes(check=False), {}) == {"changed": False, "nodes": {}, "schema": ""}
    with pytest.raises(GroundupError, match="no Ironic to be saved"):
        on_seed.take(Changes(check=False), {})
    assert seed == []
