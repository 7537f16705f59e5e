"""The shape of a part that is backed up: a new one is a file, and its steps are those of all."""

from __future__ import annotations

import base64
import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.modules import backup as module
from ansible_collections.groundup.cloud.plugins.plugin_utils import backup
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import documented
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.part import SealedBackup, SealedPart
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.shelf import Shelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION, state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store

PLAN = make_plan(load_site(COLLECTION / "inventories/lab/site.yml"))


class Toy(SealedPart[SealedBackup, str]):
    """A word that a host keeps."""

    codes = ("overwrite",)

    def shelf(self, *, home: str = "toy") -> Shelf[SealedBackup]:
        return Shelf(
            kind=SealedBackup, home=state_dir(self.plan.site) / "backups" / home, suffix=".vault", subject="the word",
            playbook="groundup.cloud.toy", unsaved="later words are in none", partial="it would be half a word",
            place="the host", replaces="the host says", consent="toy_force",
        )  # fmt: skip

    def replaced(self, found: Mapping[str, Any]) -> Shelf[SealedBackup]:
        del found
        return self.shelf(home="toy/replaced")

    def parse(self, data: bytes, *, where: str) -> str:
        if not data:
            raise GroundupError("no word", where=where, why="there is nothing to say", remedy="say something")
        return data.decode()

    def about(self, content: str, found: Mapping[str, Any]) -> dict[str, Any]:
        del found
        return {"counts": {"letters": len(content)}}

    def reasons(
        self, backup: SealedBackup, content: str, found: Mapping[str, Any]
    ) -> tuple[dict[str, str], dict[str, str]]:
        del backup
        return {}, {"overwrite": "it says another word"} if found["word"] != content else {}


class Host:
    """Keeps the word, or fails."""

    def __init__(self, word: str) -> None:
        self.word, self.asked, self.fails = word, list[str](), ""

    def step(self, step: str, **options: Any) -> dict[str, Any]:
        self.asked.append(step)
        if step == self.fails:
            return {"failed": True, "msg": "no room"}
        found: dict[str, Any] = {"word": self.word, "changed": step != "check", "changes": [step]}
        if step == "restore":
            self.word = base64.b64decode(options["content"]).decode()
        return found | ({"content": base64.b64encode(self.word.encode()).decode()} if step == "take" else {})


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    (tmp_path / "password").write_text("of this test")
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(tmp_path / "password"))
    open_store(PLAN.site).ensure(["ironic/groundup"])
    return Host("first")


def restore(host: Host, *force: str, go: bool = True) -> dict[str, Any]:
    return Toy(PLAN, host.step).restore(source="newest", force=force, go=go)


def test_a_new_part_is_saved_sealed_verified_and_restored_by_what_all_have(host: Host) -> None:
    taken = Toy(PLAN, host.step).take(keep=1)
    assert "content" not in taken, "what is saved is in no result"
    assert b"first" not in Path(taken["backup"]["file"]).read_bytes()
    assert Toy(PLAN, host.step).verify(days=1)["backup"] == taken["backup"]
    host.word = "second"
    with pytest.raises(GroundupError, match="it says another word"):
        restore(host, go=False)
    with pytest.raises(GroundupError, match="no risk outdated to accept"):
        restore(host, "outdated")
    host.asked.clear()
    done = restore(host, "overwrite")
    assert (host.word, host.asked, done["changes"]) == ("first", ["check", "take", "restore"], ["take", "restore"])


@pytest.mark.parametrize(("fails", "asked"), [("check", ["check"]), ("take", ["check", "take"])])
def test_what_fails_before_ends_a_restore(host: Host, fails: str, asked: list[str]) -> None:
    Toy(PLAN, host.step).take(keep=1)
    host.asked.clear()
    host.fails = fails
    assert restore(host)["failed"]
    assert host.asked == asked


def test_the_parts_are_those_that_the_module_documents_and_a_host_can_do() -> None:
    assert documented("backup")["part"]["choices"] == backup.names() == sorted(module.PARTS)
    for name in backup.names():
        assert {"take", "check", "restore"} <= set(dir(module.PARTS[name]))
        assert issubclass(backup.find(name), importlib.import_module(f"{backup.__name__}.part").BackupPart)
        assert all(f"V({code})" in module.DOCUMENTATION for code in backup.find(name).codes)
