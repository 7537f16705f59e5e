"""What `supply prune` takes away, and above all what it leaves alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.locks import locked
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply import prune as pruning
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import file_digest
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.served import LAID_OUT, lay_out, served
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.unpack import mark, unpacked
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.prune import prune

from .conftest import FakeBuilder

MakeLock = Callable[..., Lock]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory without labs."""
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def old_and_new(fake: FakeBuilder, make_lock: MakeLock, lines: list[str]) -> tuple[Lock, supply.Artifact]:
    """A lock, and an artifact of the lock before it that was last used 40 days ago."""
    del fake
    old = supply.ensure("a", progress=lines.append, lock=make_lock(a={"version": "1"}))["a"]
    _used(old.path.parent / "used", days=40)
    new = make_lock(a={"version": "2"})
    supply.ensure("a", progress=lines.append, lock=new)
    lines.clear()
    return new, old


def test_what_the_lock_no_longer_names_goes_and_is_told_with_its_bytes(
    old_and_new: tuple[Lock, supply.Artifact], lines: list[str]
) -> None:
    lock, old = old_and_new
    present = sum(path.stat().st_size for path in old.path.parent.rglob("*") if path.is_file())
    (removed,) = prune(lock, days=30, progress=lines.append)
    assert not old.path.exists()
    assert removed.bytes == present
    assert removed.name == f"artifacts/a/{old.key}"
    assert old.key in lines[0]
    assert lines[-1].startswith(f"[prune] 1 of 1 unnamed directories removed: {removed.bytes} bytes")
    assert supply.missing("a", lock=lock) == ()


def test_a_dry_run_says_the_same_and_removes_nothing(
    old_and_new: tuple[Lock, supply.Artifact], lines: list[str]
) -> None:
    lock, old = old_and_new
    foretold = prune(lock, days=30, progress=lines.append, dry_run=True)
    assert old.path.exists()
    assert "would remove" in lines[0]
    assert prune(lock, days=30, progress=lines.append) == foretold


def test_what_was_used_in_the_last_days_stays(old_and_new: tuple[Lock, supply.Artifact], lines: list[str]) -> None:
    lock, old = old_and_new
    assert prune(lock, days=41, progress=lines.append) == ()
    assert old.path.exists()


def test_asking_for_an_artifact_counts_as_use(
    old_and_new: tuple[Lock, supply.Artifact], make_lock: MakeLock, lines: list[str]
) -> None:
    lock, old = old_and_new
    supply.ensure("a", progress=lines.append, lock=make_lock(a={"version": "1"}))
    assert prune(lock, days=30, progress=lines.append) == ()
    assert old.path.exists()


def test_what_the_lock_names_stays_however_old_built_or_published(
    fake: FakeBuilder, make_lock: MakeLock, lines: list[str]
) -> None:
    del fake
    lock = make_lock(a={"needs": ["b"]}, b={})
    for artifact in supply.ensure(None, progress=lines.append, lock=lock).values():
        _used(artifact.path.parent / "used", days=4000)
    assert prune(lock, days=1, progress=lines.append) == ()
    assert supply.missing(None, lock=lock) == ()


def test_served_files_of_a_familys_other_version_stay(
    fake: FakeBuilder, make_lock: MakeLock, lines: list[str], cache: Path
) -> None:
    del fake
    lock = make_lock(a={"version": "1"}, b={"version": "2", "serves": "a"})
    for artifact in supply.ensure(None, progress=lines.append, lock=lock).values():
        lay_out(served(), artifact)
        _used(served() / artifact.place / LAID_OUT, days=400)
    assert prune(lock, days=30, progress=lines.append) == ()
    assert {path.name for path in (cache / "served/a").iterdir()} == {"1", "2"}


def test_an_artifact_that_left_the_lock_goes(fake: FakeBuilder, make_lock: MakeLock, lines: list[str]) -> None:
    del fake
    gone = supply.ensure("b", progress=lines.append, lock=make_lock(b={}))["b"]
    _used(gone.path.parent / "used", days=31)
    prune(make_lock(a={}), days=30, progress=lines.append)
    assert not gone.path.exists()


@pytest.mark.usefixtures("fake")
def test_unpacked_roots_follow_their_artifacts_and_their_use(
    cache: Path, make_lock: MakeLock, lines: list[str]
) -> None:
    new, old = _root(cache, "new"), _root(cache, "old")
    for place in (new, old):
        _used(mark(place), days=31)
    _root(cache, "new")  # asked for again
    removed = prune(make_lock(a={}), days=30, progress=lines.append)
    assert [each.name for each in removed] == [f"unpacked/{old.name}"]
    assert new.exists()
    assert not old.exists()
    assert not mark(old).exists()


@pytest.mark.usefixtures("fake")
def test_a_root_that_a_host_of_a_stopped_lab_was_made_from_stays(
    cache: Path, make_lock: MakeLock, lines: list[str], state: Path
) -> None:
    place = _root(cache, "old")
    _used(mark(place), days=400)
    (state / "site/lab/control-01").mkdir(parents=True)
    (state / "site/lab/control-01/image").symlink_to(place)
    assert prune(make_lock(a={}), days=30, progress=lines.append) == ()
    assert place.exists()


@pytest.mark.root
@pytest.mark.usefixtures("fake")
def test_a_root_that_is_mounted_in_any_namespace_stays(
    cache: Path, make_lock: MakeLock, lines: list[str], tmp_path: Path
) -> None:
    place = _root(cache, "old")
    _used(mark(place), days=400)
    (tmp_path / "merged").mkdir()
    script = 'mount --bind "$1" "$2"; echo mounted; read -r end'
    command = ["unshare", "--mount", "--propagation=private", "sh", "-euc", script, "sh"]
    places = [str(place), str(tmp_path / "merged")]
    with subprocess.Popen([*command, *places], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"mounted\n"
        assert prune(make_lock(a={}), days=30, progress=lines.append) == ()
        holder.communicate(b"\n")
    assert len(prune(make_lock(a={}), days=30, progress=lines.append)) == 1


def test_a_prune_that_was_killed_is_finished_by_the_next_build(
    old_and_new: tuple[Lock, supply.Artifact], lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, old = old_and_new

    def killed(tree: Path) -> None:
        raise KeyboardInterrupt(tree)

    with monkeypatch.context() as patch:
        patch.setattr(pruning, "remove_tree", killed)
        with pytest.raises(KeyboardInterrupt):
            prune(lock, days=30, progress=lines.append)
    assert not old.path.exists(), "never half there under its own name"
    supply.ensure("a", progress=lines.append, lock=lock, rebuild=True)
    assert [path.name for path in old.path.parents[1].iterdir() if path.is_dir()] == [
        supply.ensure("a", progress=lines.append, lock=lock)["a"].key
    ]


def _meanwhile(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Have something happen once, after a prune chose what goes and before it has the lock."""
    pending = [happens]

    @contextmanager
    def late(path: Path) -> Iterator[None]:
        if pending:
            pending.pop()()
        with locked(path):
            yield

    monkeypatch.setattr(pruning, "locked", late)


def test_what_another_prune_took_meanwhile_is_not_taken_again(
    old_and_new: tuple[Lock, supply.Artifact], lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, old = old_and_new
    first: list[pruning.Removed] = []
    _meanwhile(monkeypatch, lambda: first.extend(prune(lock, days=30, progress=lines.append)))
    assert prune(lock, days=30, progress=lines.append) == ()
    assert [each.name for each in first] == [f"artifacts/a/{old.key}"]
    assert not old.path.exists()


def test_what_somebody_asked_for_meanwhile_stays(
    old_and_new: tuple[Lock, supply.Artifact], lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, old = old_and_new
    _meanwhile(monkeypatch, (old.path.parent / "used").touch)
    assert prune(lock, days=30, progress=lines.append) == ()
    assert old.path.exists()


def test_less_than_a_day_is_refused(make_lock: MakeLock, lines: list[str]) -> None:
    with pytest.raises(GroundupError, match="--days 0"):
        prune(make_lock(a={}), days=0, progress=lines.append)


def test_the_command_line_prunes_with_the_collections_own_lock(cache: Path) -> None:
    place = cache / "artifacts/of-yesteryear/0123456789abcdef"
    place.mkdir(parents=True)
    (place / "manifest.json").write_text("{}")
    _used(place / "used", days=31)
    command = [sys.executable, "-m", f"{supply.__name__}", "prune"]
    said = subprocess.run([*command, "--dry-run"], check=True, capture_output=True, text=True).stdout
    assert "would remove artifacts/of-yesteryear/0123456789abcdef" in said
    assert place.exists()
    subprocess.run(command, check=True, capture_output=True)
    assert not place.exists()


def _used(file: Path, *, days: float) -> None:
    file.touch()
    then = time.time() - days * 86400
    os.utime(file, (then, then))


def _root(cache: Path, name: str) -> Path:
    """Return the unpacked directory of a small root file system called ``name``, made when missing."""
    archive = cache / "made" / f"{name}.tar.zst"
    if not archive.exists():
        tree = archive.parent / name
        (tree / "etc").mkdir(parents=True)
        (tree / "etc/hostname").write_text(name)
        subprocess.run(["tar", "--zstd", "-C", tree, "-cf", archive, "."], check=True)
        shutil.rmtree(tree)
    digest = file_digest(archive)
    return unpacked(
        supply.Artifact(
            name="root", kind="root", version="1", key="0" * 16, path=archive, sha256=digest, image=None
        )
    )  # fmt: skip
