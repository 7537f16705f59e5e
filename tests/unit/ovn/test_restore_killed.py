"""A restore of the northbound database is killed between its effects, and run again as it was run."""

from __future__ import annotations

import base64
import gzip
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._ovn import snapshot
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.ovn import OvnPart
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError

from .test_backup import PLAN, saved
from .test_snapshot import dump


class Leader:
    """The member that leads, whose database has lost all its networks; ``dies``: at which step the run ends."""

    def __init__(self, dies: str = "") -> None:
        self.switches: tuple[str, ...] = ()
        self.dies = dies

    def __call__(self, step: str, *, content: str = "", **_: Any) -> dict[str, Any]:
        now = dump(*self.switches)
        found = {
            "leader": True, "cluster": "cid-nb", "schema": "7.11.0", "changed": step != "check", "changes": [],
            "counts": snapshot.parse(now, where="here").counts,
        }  # fmt: skip
        if step == self.dies:
            raise KeyboardInterrupt
        if step == "take":
            return found | {"content": base64.b64encode(gzip.compress(now)).decode()}
        if step == "restore":
            names = snapshot.parse(gzip.decompress(base64.b64decode(content)), where="the backup").names
            self.switches = tuple(sorted(names["Logical_Switch"]))
        return found


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    return tmp_path / "lab/backups/ovn-nb"


def restore(leader: Leader) -> None:
    OvnPart(PLAN, leader).restore(source="newest", force=[], go=True)


@pytest.mark.parametrize("dies", ["check", "take", "restore", ""])
def test_what_a_killed_run_saved_before_it_restored_is_not_the_newest_for_the_next(state: Path, dies: str) -> None:
    saved("a")
    leader = Leader(dies)
    if dies:
        with pytest.raises(KeyboardInterrupt):
            restore(leader)
        leader.dies = ""
    restore(leader)
    assert list(leader.switches) == ["a"]
    with pytest.raises(GroundupError, match="what was made since is taken away"):
        restore(leader)
    undo = str(min((state / "replaced").glob("*.json")))
    OvnPart(PLAN, leader).restore(source=undo, force=["overwrite"], go=True)
    assert list(leader.switches) == []


def test_an_undo_keeps_what_it_restores_however_many_were_saved_since(state: Path) -> None:
    saved("a")
    leader = Leader()
    restore(leader)
    undo = min((state / "replaced").glob("*.json"))
    for _ in range(15):
        OvnPart(PLAN, leader).restore(source="newest", force=["overwrite"], go=True)
    leader.dies = "restore"
    with pytest.raises(KeyboardInterrupt):
        OvnPart(PLAN, leader).restore(source=str(undo), force=["overwrite"], go=True)
    assert undo.exists()
