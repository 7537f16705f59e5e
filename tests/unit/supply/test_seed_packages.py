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
from ansible_collections.groundup.cloud.plugins.module_utils._seed.repositories import receive
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import openpgp
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.served import LAID_OUT, lay_out
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Entry, Lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.context import BuildContext
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish import snapshots

from .conftest import FakeBuilder

PLACE = "packages-13/13"


class Host:
    """A seed that is a directory here: does what the module does with repositories, and no more."""

    def __init__(self, home: Path, state: Path) -> None:
        self.root, self.state = home / "srv", state
        self.sent: list[str] = []
        self.keys: list[str] = []
        self.places: dict[str, str] = {}

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
        self.places = given["packages_seed"]["places"]
        lacking = receive(changes, self.root, given["repositories"])
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


def test_a_repository_of_another_build_is_another_snapshot_and_the_former_one_stays(
    lock: Callable[[str], None], state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    host = Host(tmp_path, state)
    path, seen = host.root / PLACE, list[str]()
    for text in ("one", "two", "three"):
        lock(text)
        before = (path.resolve(), listed(path.resolve())) if seen else None
        assert host.converge()["changed"]
        own = snapshots.places(snapshots.load(state.name), {"13": PLACE})
        assert host.places == own, "the seed installs from the snapshot that hosts install from"
        place = host.root / own["13"]
        assert path.resolve() == place, "the path of a site without snapshots leads to the one in use"
        assert listed(place) == [f"{text}.deb"]
        assert f"Label: {text}" in (place / "dists/trixie/InRelease").read_text()
        assert before is None or listed(before[0]) == before[1], "hosts that use the former one still can"
        seen.append(place.name)
        assert directories(path.parent) == sorted(seen[-2:])
    assert len(set(host.keys)) == 1, "the site's key stays"


def test_the_former_snapshot_is_used_again_when_its_build_is_back(
    lock: Callable[[str], None], state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    host = Host(tmp_path, state)
    used = []
    for text in ("one", "two", "one"):
        lock(text)
        host.converge()
        used.append(host.places["13"])
    assert used[0] == used[2] != used[1]
    assert len(host.sent) == 2, "it is still there"
    assert directories((host.root / PLACE).parent) == sorted(Path(one).name for one in used[:2])


def test_what_hosts_were_led_to_stays_also_when_another_controller_led_them_there(
    lock: Callable[[str], None], state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    host, record = Host(tmp_path, state), state / snapshots.FILE
    lock("one")
    host.converge()
    own = record.read_text()
    lock("two")
    host.converge()
    used = (host.root / PLACE).resolve()
    record.write_text(own)
    lock("three")
    host.converge()
    assert listed(used) == ["two.deb"]
    assert len(directories(used.parent)) == 2


def test_a_run_that_is_killed_while_it_removes_a_snapshot_leaves_none_that_seems_whole(
    lock: Callable[[str], None], state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    host = Host(tmp_path, state)
    for text in ("one", "two"):
        lock(text)
        host.converge()

    def killed(place: Path) -> None:
        next(place.glob("pool/*.deb")).unlink()
        raise KeyboardInterrupt

    lock("three")
    with monkeypatch.context() as during:
        during.setattr(shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            host.converge()
    for text in ("one", "two", "one"):
        lock(text)
        host.converge()
        assert listed(host.root / PLACE) == [f"{text}.deb"]


@pytest.mark.parametrize("same", [True, False])
def test_the_repository_of_a_seed_without_snapshots_stays_where_hosts_look_for_it(
    same: bool, lock: Callable[[str], None], state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    host = Host(tmp_path, state)
    lock("one")
    lay_out(host.root, supply.ensure("packages-13")["packages-13"])
    inode = (host.root / PLACE / LAID_OUT).stat().st_ino
    if not same:
        lock("two")
    predicted = host.converge(check=True)["changes"]
    assert (host.root / PLACE).is_dir()
    assert not (host.root / PLACE).is_symlink()
    assert predicted[0].startswith(f"rename {host.root / PLACE} to ")
    assert any(line.startswith("receive ") for line in predicted) is not same
    host.converge()
    assert bool(host.sent) is not same
    assert listed(host.root / PLACE) == ["one.deb" if same else "two.deb"]
    kept = directories((host.root / PLACE).parent)
    assert len(kept) == 2 - same
    assert inode in {(host.root / "packages-13" / name / LAID_OUT).stat().st_ino for name in kept}, "nothing is copied"
    assert not host.converge()["changed"]


def test_a_seed_that_was_not_converged_leaves_hosts_their_snapshot(
    lock: Callable[[str], None], state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    host = Host(tmp_path, state)
    lock("one")
    host.converge()
    used = snapshots.load(state.name)
    lock("two")
    supply.ensure("packages-13")
    predicted = host.converge(check=True)
    foreseen = snapshots.from_plain(predicted["snapshots"])
    assert foreseen[PLACE][1:] == used[PLACE] != foreseen[PLACE], "hosts' layer predicts from it"
    assert snapshots.load(state.name) == used
    monkeypatch.setattr(host, "send", lambda *_: (_ for _ in ()).throw(ConnectionError))
    with pytest.raises(ConnectionError):
        host.converge()
    assert snapshots.load(state.name) == used
    assert listed(host.root / PLACE) == ["one.deb"]


def listed(place: Path) -> list[str]:
    """Return the packages of a snapshot."""
    return sorted(path.name for path in (place / "pool").glob("*.deb"))


def directories(place: Path) -> list[str]:
    """Return the snapshots of a repository."""
    return sorted(path.name for path in place.iterdir() if not path.is_symlink())
