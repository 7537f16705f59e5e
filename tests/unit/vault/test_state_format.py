"""The format number of a state directory: a newer one is left alone, one of before is brought up, none is set back."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action.plan import ActionModule as PlanAction
from ansible_collections.groundup.cloud.plugins.action.secrets import ActionModule as SecretsAction
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils import site_identity, state_format
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import documented
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.tests.unit.killing import Killer

LAB = Path(__file__).resolve().parents[3] / "inventories/lab/site.yml"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)
    return tmp_path / "state/lab"


def act(action: Any, *, check: bool = False, **options: Any) -> dict[str, Any]:
    """Return the result of an action on the lab's site file."""
    made = action.__new__(action)
    made.variables, made.changes = {}, Changes(check=check)
    made._task = type("Task", (), {"check_mode": check})()
    made._display = type("Display", (), {"display": lambda *_, **__: None})()
    defaults = {name: one.get("default") for name, one in documented(action.__module__).items()}
    found: dict[str, Any] = made.work({**defaults, "site_file": str(LAB), **options})
    return found


def written(state: Path, text: str) -> None:
    state.mkdir(parents=True, exist_ok=True)
    (state / state_format.FILE).write_text(text)


def test_a_newer_format_is_refused_with_both_numbers_and_the_remedy(state: Path) -> None:
    newer = state_format.FORMAT + 1
    written(state, f"{newer}\n")
    with pytest.raises(GroundupError, match=f"has format {newer}, .* up to {state_format.FORMAT}") as caught:
        state_dir("lab")
    assert "install the version that wrote it, or a later one" in caught.value.remedy
    with pytest.raises(GroundupError, match=f"has format {newer}"):
        site_identity.adopt(make_plan(load_site(LAB)))
    assert [path.name for path in state.iterdir()] == [state_format.FILE]
    assert (state / state_format.FILE).read_text() == f"{newer}\n", "it is never set back"


@pytest.mark.parametrize("text", ["", "two\n", "-1\n", "1.0\n", "0\n", "1\n2\n", "99999\n", "\u0661\n"])
def test_a_format_that_is_no_number_is_refused(state: Path, text: str) -> None:
    written(state, text)
    with pytest.raises(GroundupError, match="cannot be read") as caught:
        state_dir("lab")
    assert caught.value.where == str(state / state_format.FILE)
    assert "remove it" in caught.value.remedy


@pytest.mark.parametrize(("action", "options"), [(PlanAction, {}), (SecretsAction, {"step": "create"})])
def test_a_state_of_before_is_adopted_by_a_run_that_writes(
    state: Path, monkeypatch: pytest.MonkeyPatch, action: Any, options: dict[str, Any]
) -> None:
    act(action, **options)
    (state / state_format.FILE).unlink()
    act(action, check=True, **options)
    assert not (state / state_format.FILE).exists(), "a dry run writes nothing"
    act(action, **options)
    assert (state / state_format.FILE).read_text() == f"{state_format.FORMAT}\n"
    monkeypatch.setattr(state_format, "write_file", lambda *_, **__: pytest.fail("it is there"))
    act(action, **options)


def test_a_plan_for_reading_leaves_the_state_as_it_is(state: Path, tmp_path: Path) -> None:
    act(PlanAction, output=str(tmp_path / "review"))
    assert not state.exists()
    assert not (tmp_path / "review" / state_format.FILE).exists()


def test_an_older_format_is_brought_up(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(state, "1\n")
    monkeypatch.setattr(state_format, "FORMAT", 2)
    state_format.adopt(state)
    assert (state / state_format.FILE).read_text() == "2\n"


def test_a_run_that_was_killed_while_it_wrote_leaves_the_former_number(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(state, "1\n")
    monkeypatch.setattr(state_format, "FORMAT", 2)
    killer = Killer()
    monkeypatch.setattr(Path, "replace", killer.after(Path.replace))
    killer.left = 1
    with pytest.raises(KeyboardInterrupt):
        state_format.adopt(state)
    killer.left = 0
    assert (state / state_format.FILE).read_text() in ("1\n", "2\n")
    assert [path.name for path in state.iterdir()] == [state_format.FILE]


def test_a_directory_that_it_makes_is_for_nobody_else(state: Path) -> None:
    state_format.adopt(state)
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
