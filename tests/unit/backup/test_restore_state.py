"""The state directory, put back where there is none."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore import journal, state
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.write import alone
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import journal as upgrade

from .restoring import archive


def test_a_state_is_put_back_whole_and_never_over_a_living_one(plan: Plan, tmp_path: Path, monkeypatch: Any) -> None:
    with pytest.raises(GroundupError, match="this control node has a state of the site"):
        state.put(plan.site, [archive("secrets.yml")])
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "new"))
    with pytest.raises(GroundupError, match=r"the set's state has no secrets\.yml"):
        state.put(plan.site, [archive("ca.crt")])
    home = state_dir(plan.site)
    (home / "ssh").mkdir()
    (home / "ssh/id_ed25519").write_text("of a killed run")
    content = archive("secrets.yml", "ssh/id_ed25519", "site-file/site.yml", journal.FILE, *upgrade.FILES)
    assert state.put(plan.site, [content[:700], content[700:]])[0] == 2
    found = sorted(str(one.relative_to(home)) for one in home.rglob("*") if one.is_file())
    assert found[1:] == ["secrets.yml", "ssh/id_ed25519"]
    assert (home / found[0]).read_text() == "of a killed run"
    assert (home / "ssh/id_ed25519").read_text() == "ssh/id_ed25519"


def test_a_state_directory_that_the_lock_makes_is_for_nobody_else(plan: Plan, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "new"))
    with alone(plan.site):
        assert stat.S_IMODE(state_dir(plan.site).stat().st_mode) == 0o700


def test_a_name_outside_of_the_state_directory_is_not_written(plan: Plan, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "new"))
    with pytest.raises(GroundupError, match="is no file below it"):
        state.put(plan.site, [archive("../../escaped", "secrets.yml")])
    assert not (state_dir(plan.site) / "secrets.yml").exists()
