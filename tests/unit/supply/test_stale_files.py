"""What a killed run leaves in the cache goes with the next; what a live one is using stays."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.action.seed import ActionModule
from ansible_collections.groundup.cloud.plugins.module_utils._base.locks import locked
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache import served
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.served import lay_out
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.store import ArtifactStore
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.prune import prune, remove_stale

from .conftest import FakeBuilder
from .seed import Seed

MakeLock = Callable[..., Lock]
pytestmark = pytest.mark.usefixtures("state")


def _hold_build(ready: Event) -> None:
    with ArtifactStore().building("a") as place:
        (place / "files").mkdir()
        ready.set()
        signal.pause()


@contextmanager
def another_run(work: Callable[[Event], None]) -> Iterator[Callable[[], None]]:
    """Run ``work`` in a process of its own until it is in the middle of it; give what kills it."""
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    run = context.Process(target=work, args=(ready,))
    run.start()

    def kill() -> None:
        assert run.pid is not None
        os.kill(run.pid, signal.SIGKILL)
        run.join()

    try:
        assert ready.wait(30)
        yield kill
    finally:
        run.kill()
        run.join()


def test_an_archive_on_its_way_to_a_seed_has_no_name_in_the_cache_and_needs_no_clearing(
    fake: FakeBuilder, make_lock: MakeLock, seed: Seed, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has no name goes with its run, however that ends."""
    del fake
    seen: list[set[str]] = []

    def transfer(local: str, remote: str) -> None:
        assert Path(local).readlink().name.endswith("(deleted)")
        seen.append({path.name for path in cache.iterdir()})
        seed.transfer(local, remote)

    monkeypatch.setattr(ActionModule, "_transfer_file", lambda _, *both: transfer(*both))
    assert seed.publish(make_lock(program={}))["files"] == ["program/1"]
    assert seen == [{"artifacts", "logs", "served"}]


def test_prune_clears_what_dead_builds_left_and_says_so(make_lock: MakeLock, lines: list[str], cache: Path) -> None:
    lock = make_lock()
    with another_run(_hold_build) as kill:
        (place,) = (cache / "artifacts/a").glob(".building-*")
        prune(lock, days=30, progress=lines.append)
        assert (place / "files").is_dir(), "its run is alive"
        assert not any("killed" in line for line in lines)
        kill()
        name = f"artifacts/a/{place.name}"
        prune(lock, days=30, progress=lines.append, dry_run=True)
        assert f"[prune] would remove {name}: left by a run that was killed" in lines
        assert place.exists()
        prune(lock, days=30, progress=lines.append)
        assert f"[prune] removing {name}: left by a run that was killed" in lines
        assert not place.exists()


@pytest.mark.parametrize("left", [".root-go-ab_12.partial", ".old-root-go-0123456789abcdef"])
def test_half_a_root_stays_while_somebody_has_the_roots_lock(left: str, cache: Path) -> None:
    place = cache / "unpacked" / left
    (place / "etc").mkdir(parents=True)
    with locked(cache / "unpacked/.root-go.lock"):
        assert remove_stale() == ()
    assert remove_stale() == (place,)
    assert not place.exists()


def test_what_is_being_laid_out_is_locked_against_other_runs(
    fake: FakeBuilder, make_lock: MakeLock, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sites' seeds may be filled at once, and a prune may run beside them."""
    del fake
    artifact = supply.ensure("a", lock=make_lock(a={}))["a"]
    left = cache / "served/a/.old-0"
    left.mkdir(parents=True)
    seen: list[tuple[Path, ...]] = []
    link = served._link

    def looked(source: Path, target: Path) -> None:
        seen.append(remove_stale())
        link(source, target)

    monkeypatch.setattr(served, "_link", looked)
    assert lay_out(served.served(), artifact) == [cache / "served/a/1/file"]
    assert seen == [()]
    assert remove_stale() == (left,)


def test_files_laid_out_for_seeds_in_old_versions_go_like_their_artifacts(
    fake: FakeBuilder, make_lock: MakeLock, lines: list[str], seed: Seed, cache: Path
) -> None:
    """They are links: an artifact's bytes stay as long as they do."""
    del fake
    seed.publish(make_lock(a={"version": "1"}))
    new = make_lock(a={"version": "2"})
    seed.publish(new)
    old, kept = cache / "served/a/1", cache / "served/a/2"
    month_ago = (cache / "artifacts").stat().st_mtime - 31 * 86400
    for place in (old, kept):
        os.utime(place / ".artifact.json", (month_ago, month_ago))
    prune(new, days=60, progress=lines.append)
    assert old.is_dir()
    removed = prune(new, days=30, progress=lines.append)
    assert [each.name for each in removed] == ["served/a/1"]
    assert not old.exists()
    assert kept.is_dir()
    supply.ensure("a", lock=new)
    seed.publish(new)
    assert (kept / ".artifact.json").stat().st_mtime > month_ago, "publishing is using"
