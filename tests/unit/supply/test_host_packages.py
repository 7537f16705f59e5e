"""Hosts install from the snapshot of packages that their seed has in use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action import host as action
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish import snapshots

PLACE = "packages-13/13"


def converge(
    monkeypatch: pytest.MonkeyPatch, state: Path, planned: dict[str, str] | None, variables: dict[str, Any]
) -> Any:
    """Run the action; return what the host is told of the seed's packages."""
    asked: list[dict[str, Any]] = []
    this = object.__new__(action.ActionModule)
    this.changes, this.variables = Changes(check=bool(variables.get("ansible_check_mode"))), variables

    def on_host(**arguments: Any) -> dict[str, Any]:
        asked.append(arguments["given"])
        return {}

    monkeypatch.setattr(this, "on_host", on_host)
    this.work({"step": "converge", "site": state.name, "packages_seed": planned and {"places": planned}})
    return asked[0]["packages_seed"]


def test_hosts_install_from_the_snapshot_on_record(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = [snapshots.Snapshot(name=name, sha256=name) for name in ("2026-11-28-b", "2026-10-01-a")]
    snapshots.save(state.name, {PLACE: two})
    assert snapshots.told(snapshots.load(state.name)) == "packages-13 2026-11-28-b, before 2026-10-01-a"
    asked = converge(monkeypatch, state, {"13": PLACE, "12": "packages-12/12"}, {})
    assert asked["places"] == {"13": "packages-13/2026-11-28-b", "12": "packages-12/12"}
    assert converge(monkeypatch, state, None, {}) is None


def test_a_release_that_a_site_left_has_no_snapshot_in_use() -> None:
    one, old = (snapshots.Snapshot(name=name, sha256=name) for name in ("2026-11-28-b", "2026-10-01-a"))
    record = {PLACE: [one, old], "packages-12/12": [old], "packages-14/14": []}
    assert snapshots.in_use(record, {"13": PLACE, "14": "packages-14/14"}) == ["2026-11-28-b"]


@pytest.mark.parametrize(
    ("check", "seed", "used"),
    [
        (True, "seed-1", "2026-12-24-c"),
        (False, "seed-1", "2026-11-28-b"),
        (True, "seed-2", "2026-11-28-b"),
        (True, None, "2026-11-28-b"),
    ],
)
def test_a_dry_run_tells_that_hosts_move_to_the_snapshot_that_the_seed_would_serve(
    check: bool, seed: str | None, used: str, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, new = (snapshots.Snapshot(name=name, sha256=name) for name in ("2026-11-28-b", "2026-12-24-c"))
    snapshots.save(state.name, {PLACE: [one]})
    said = {"seed-1": {"seed_converged": {"snapshots": snapshots.plain({PLACE: [new, one]})}}, "seed-2": {}}
    variables = {
        "ansible_check_mode": check, "hostvars": said, "groundup_site": {"supply": {"seed": seed}}
    }  # fmt: skip
    asked = converge(monkeypatch, state, {"13": PLACE}, variables)
    assert asked["places"] == {"13": f"packages-13/{used}"}


def test_a_record_that_cannot_be_read_is_named(state: Path) -> None:
    state.mkdir(parents=True, exist_ok=True)
    for text in ("{", "[]", '{"packages-13/13": [{"name": 1}]}'):
        (state / snapshots.FILE).write_text(text)
        with pytest.raises(GroundupError, match="run the playbook"):
            snapshots.load(state.name)


@pytest.mark.parametrize("name", ["", "..", "a/b", "2026-11-28-b/..", "2026-11-28-b\n", "13"])
def test_a_record_never_names_a_directory_that_is_no_snapshot(name: str, state: Path) -> None:
    state.mkdir(parents=True, exist_ok=True)
    (state / snapshots.FILE).write_text(json.dumps({PLACE: [{"name": name, "sha256": "00"}]}))
    with pytest.raises(GroundupError, match="is no name of a snapshot"):
        snapshots.load(state.name)
