"""What the controller takes of the doings of the seed's runner into its journals."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import delegated
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import WayStep
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.tests.unit.metal.test_seed_runner import CALL, line


def test_the_controller_takes_each_line_once(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "worker-1.jsonl")
    journal.note(WayStep(state="provisioning", verb="wait", doing="its ramdisk boots"))
    call = {**CALL, "way": [line("installed", 1.0), line("configuring", 2.0)]}
    delegated.adopt(journal, call)
    call["way"] = [*call["way"], line("serving", 3.0)]
    assert delegated.adopt(Journal(tmp_path / "worker-1.jsonl"), call)["state"] == "serving"
    assert delegated.adopt(journal, call)["state"] == "serving"
    found = Journal(tmp_path / "worker-1.jsonl")
    assert [one["state"] for one in found.lines()] == ["provisioning", "installed", "configuring", "serving"]
    assert found.installed


@pytest.mark.parametrize("lacks", ["the secrets store", "ca.crt"])
def test_a_table_of_a_site_without_a_seed_is_shown_and_says_what_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacks: str
) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(tmp_path / "password"))
    (tmp_path / "password").write_text("of this test")
    text = (COLLECTION / "inventories/lab-metal/site.yml").read_text()
    (tmp_path / "site.yml").write_text(text + "seed: {runner: [host]}\n")
    plan = make_plan(load_site(tmp_path / "site.yml"))
    if lacks == "ca.crt":
        open_store(plan.site, write=True).ensure(["ironic/groundup"])
    assert lacks in delegated.refresher(plan)()


def test_nothing_is_taken_of_a_machine_that_is_being_retired(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "worker-1.jsonl")
    journal.note(WayStep(state="installed", verb="done"))
    journal.note(WayStep(state="retiring", verb="wait"))
    assert delegated.adopt(journal, {**CALL, "way": [line("serving", 3.0)]}) == {}


def test_two_that_take_the_same_line_at_one_moment_take_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, call, add = tmp_path / "worker-1.jsonl", {**CALL, "way": [line("installed", 1.0)]}, Journal.add
    others = list[threading.Thread]()

    def meanwhile(journal: Journal, given: Mapping[str, Any]) -> None:
        if not others:
            others.append(threading.Thread(target=lambda: delegated.adopt(Journal(path), call)))
            others[0].start()
            others[0].join(0.3)  # it ends only when nothing keeps it off
        add(journal, given)

    monkeypatch.setattr(Journal, "add", meanwhile)
    delegated.adopt(Journal(path), call)
    others[0].join()
    assert [one["state"] for one in Journal(path).lines()] == ["installed"]


def test_a_line_is_taken_once_by_who_looked_before_there_was_a_journal(tmp_path: Path) -> None:
    path, call = tmp_path / "worker-1.jsonl", {**CALL, "way": [line("installed", 1.0)]}
    early = Journal(path)
    delegated.adopt(Journal(path), call)
    delegated.adopt(early, call)
    assert len(Journal(path).lines()) == 1
