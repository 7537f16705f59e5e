"""Repositories of packages reach a seed before anything is installed on it, signed, and only when it lacks them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action import seed as action
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._seed.converge import repositories
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import openpgp
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Entry, Lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.context import BuildContext

from .conftest import FakeBuilder

PLACE = "packages-13/13"


class Host:
    """A seed that is a directory here: does what the module does with repositories, and no more."""

    def __init__(self, home: Path, state: Path) -> None:
        self.root, self.state = home / "srv", state
        self.sent: list[str] = []
        self.keys: list[str] = []

    def execute(
        self, *, module_name: str = "", module_args: dict[str, Any], task_vars: dict[str, Any]
    ) -> dict[str, Any]:
        """Run the part of the step that is of interest, or a command."""
        del task_vars
        if module_name == "ansible.builtin.command":
            subprocess.run(module_args["argv"], check=True)
            return {}
        changes = Changes(check=self.check)
        given = module_args["given"]
        self.keys.append(given["packages_seed"]["key"])
        lacking = repositories(changes, self.root, given["repositories"])
        return changes.result() | ({"lacking": lacking} if lacking else {})

    def send(self, places: list[Path], root: str) -> None:
        """Copy, as a tar archive would."""
        self.sent += [place.parent.name for place in places]
        for place in places:
            shutil.copytree(place, Path(root) / place.parent.name / place.name, dirs_exist_ok=True)

    def converge(self, *, check: bool = False) -> dict[str, Any]:
        """Run the action's work."""
        self.check = check
        this = object.__new__(action.ActionModule)
        this.changes, this.variables = Changes(check=check), {}
        this._display = SimpleNamespace(display=lambda _: None)
        this._execute_module, this.send = self.execute, self.send  # type: ignore[method-assign]  # stand-ins
        seed = {"url": f"file:{self.root}", "places": {"13": PLACE}}
        given = {"step": "converge", "site": self.state.name, "packages_seed": seed, "files_root": str(self.root)}
        result: dict[str, Any] = this.work(given)
        return result


@pytest.fixture
def lock(fake: FakeBuilder, make_lock: Callable[..., Lock], monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Say what the lock's repository holds."""

    def build(entry: Entry, context: BuildContext) -> None:
        text = entry.inputs["text"]
        for name in ("dists/trixie/Release", f"pool/{text}.deb"):
            (context.output / name).parent.mkdir(parents=True)
            (context.output / name).write_text(f"Codename: trixie\nLabel: {text}\n")

    monkeypatch.setattr(fake, "build", build)

    def holds(text: str) -> None:
        found = make_lock(**{"packages-13": {"version": "13", "inputs": {"text": text}}})
        monkeypatch.setattr(supply, "load_lock", lambda _site=None: found)

    return holds


def test_a_seed_gets_a_repository_once_and_again_when_it_is_another(
    lock: Callable[[str], None], state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    host = Host(tmp_path, state)
    lock("one")
    predicted = host.converge(check=True)
    assert (predicted["changed"], host.sent, host.root.exists(), state.exists()) == (True, [], False, False)
    first = host.converge()
    assert (first["changed"], host.sent, host.keys[-1]) == (True, ["packages-13"], (state / openpgp.FILE).read_text())
    signed = (host.root / PLACE / "dists/trixie/InRelease").read_text()
    assert "Label: one" in signed
    monkeypatch.setattr(action, "open_store", lambda _: pytest.fail("nothing is to be signed"))
    for check in (False, True):
        assert not host.converge(check=check)["changed"]
    assert host.sent == ["packages-13"]


def test_a_repository_that_was_made_again_replaces_the_former_one(
    lock: Callable[[str], None], state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    host = Host(tmp_path, state)
    for text in ("one", "two"):
        lock(text)
        assert host.converge()["changed"]
        debs = [path.name for path in (host.root / PLACE / "pool").glob("*.deb")]
        assert debs == [f"{text}.deb"], "packages of former versions do not gather"
        assert f"Label: {text}" in (host.root / PLACE / "dists/trixie/InRelease").read_text()
    assert len(set(host.keys)) == 1, "the site's key stays"
