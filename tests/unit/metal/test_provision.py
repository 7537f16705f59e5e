"""What a run does not believe, begin or go on with: a journal that hides an installation, a way that hangs."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import Card, Step
from ansible_collections.groundup.cloud.tests.unit.metal.test_way import Seed, go, states


def test_a_machine_that_calls_home_after_it_was_given_up_is_journaled_as_installed(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    journal.note(Step(state="failed", verb="fail", card=Card(what="no power", why="", remedy="")))
    seed = Seed(*states("active"))
    seed.called = {"called": 1.0, "host_keys": ["ssh-ed25519 AAAA"]}
    go(seed, tmp_path / "journal")
    assert Journal(tmp_path / "journal").installed, "nothing else keeps its disk when the seed loses its database"
    before = Journal(tmp_path / "journal").lines()
    go(seed, tmp_path / "journal")
    assert Journal(tmp_path / "journal").lines() == before


def test_a_machine_that_is_given_up_has_failed_and_may_be_tried_again(tmp_path: Path) -> None:
    with pytest.raises(GroundupError, match="did not call home"):
        go(Seed(*states("active")), tmp_path / "journal", timeout=0)
    last = Journal(tmp_path / "journal").last
    assert (last["state"], last["card"]["what"]) == ("failed", "it did not call home after its installation")
