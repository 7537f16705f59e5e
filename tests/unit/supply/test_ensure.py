"""What `ensure` promises: only what is missing is built, in order, once, whole, and errors name the artifact."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.keys import keys
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.report import check, rebuild_and_compare, table

from .conftest import FakeBuilder

MakeLock = Callable[..., Lock]


def test_needs_are_built_before_what_needs_them(fake: FakeBuilder, make_lock: MakeLock, lines: list[str]) -> None:
    lock = make_lock(top={"needs": ["left", "right"]}, left={"needs": ["base"]}, right={"needs": ["base"]}, base={})
    found = supply.ensure("top", progress=lines.append, lock=lock)
    assert list(found) == ["top"]
    assert fake.names()[0] == "base"
    assert fake.names()[-1] == "top"
    assert (found["top"].path / "file").read_text().startswith("top\n")


def test_a_warm_run_builds_nothing_and_says_so(fake: FakeBuilder, make_lock: MakeLock, lines: list[str]) -> None:
    lock = make_lock(top={"needs": ["base"]}, base={})
    first = supply.ensure(None, progress=lines.append, lock=lock)
    lines.clear()
    second = supply.ensure(None, progress=lines.append, lock=lock)
    assert fake.names() == ["base", "top"]
    assert [line for line in lines if "nothing to build" in line] == lines
    assert second["top"].sha256 == first["top"].sha256
    assert first["top"].built
    assert not second["top"].built


def test_a_tool_that_is_there_is_not_talked_about(
    fake: FakeBuilder, make_lock: MakeLock, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = make_lock(clients={"provides": ["file"]})
    monkeypatch.setattr(supply, "load_lock", lambda _site=None: lock)
    first = supply.tool("file", progress=lines.append)
    assert first.is_file()
    assert any("clients" in line for line in lines)
    lines.clear()
    assert supply.tool("file", progress=lines.append) == first
    assert lines == []
    assert fake.names() == ["clients"]


def test_what_only_a_stored_artifact_needs_is_not_built(
    fake: FakeBuilder, make_lock: MakeLock, lines: list[str], cache: Path
) -> None:
    lock = make_lock(top={"needs": ["base"]}, base={})
    supply.ensure("top", progress=lines.append, lock=lock)
    (key,) = (path for path in (cache / "artifacts/base").iterdir() if path.is_dir())
    key.rename(cache / "gone")
    assert supply.missing("top", lock=lock) == ()
    supply.ensure("top", progress=lines.append, lock=lock)
    assert fake.names() == ["base", "top"]


def test_changed_inputs_builders_sources_pins_and_needs_change_the_key(
    fake: FakeBuilder, make_lock: MakeLock, tmp_path: Path
) -> None:
    def key(lock: Lock) -> str:
        return keys(lock, lock.closure(("top",)))["top"]

    lock = make_lock(top={"needs": ["base"]}, base={})
    found = [key(lock)]
    found.append(key(make_lock(top={"needs": ["base"], "version": "2"}, base={})))
    found.append(key(make_lock(top={"needs": ["base"], "inputs": {"text": "x"}}, base={})))
    found.append(key(make_lock(top={"needs": ["base"]}, base={"version": "2"})))
    found.append(key(lock.model_copy(update={"pins": lock.pins.model_copy(update={"go": "go1.26.9"})})))
    fake.version = 2
    found.append(key(lock))
    source = tmp_path / "main.go"
    for text in ("package main", "package main // changed"):
        source.write_text(text)
        fake.files = (source,)
        found.append(key(lock))
    assert len(set(found)) == len(found)


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    "added", [{"groups": ["g"]}, {"cost": 900}, {"upstream": {"reference": "h/r:1"}}, {"sha256": "0" * 64}]
)
def test_what_is_not_content_does_not_change_the_key(added: dict[str, Any], make_lock: MakeLock) -> None:
    assert keys(make_lock(a={}), ["a"]) == keys(make_lock(a=added), ["a"])
    plain, dressed = make_lock(a={}, b={"needs": ["a"]}), make_lock(a=added, b={"needs": ["a"]})
    assert keys(plain, ["a", "b"]) == keys(dressed, ["a", "b"])


def test_independent_artifacts_are_built_at_the_same_time_longest_first(
    fake: FakeBuilder, make_lock: MakeLock, lines: list[str]
) -> None:
    lock = make_lock(
        short={"cost": 1},
        long={"cost": 50},
        chain={"cost": 1, "needs": []},
        end={"cost": 90, "needs": ["chain"]},
    )
    fake.meeting = ("chain", "long")  # each waits for the other: it fails unless both are under way
    supply.ensure(None, progress=lines.append, lock=lock, jobs=2)
    start = {name: started for name, started, _ in fake.runs}
    end = {name: ended for name, _, ended in fake.runs}
    assert start["short"] >= min(end["long"], end["chain"])


def test_a_failure_names_the_artifact_keeps_the_rest_and_shows_the_log(
    fake: FakeBuilder, make_lock: MakeLock, lines: list[str]
) -> None:
    lock = make_lock(bad={"inputs": {"fails": True}}, good={"inputs": {"seconds": 0.2}}, after={"needs": ["bad"]})
    with pytest.raises(GroundupError, match="the compiler is unhappy") as caught:
        supply.ensure(None, progress=lines.append, lock=lock, jobs=2)
    assert fake.names() == ["good"]
    assert caught.value.where.endswith("bad.log")
    assert "$ " not in str(caught.value), "what the command said, not the command before it"
    assert any("bad: FAILED" in line for line in lines)
    assert supply.missing(None, lock=lock) == ("bad", "after")


def test_a_damaged_artifact_is_named_and_built_again_but_not_what_needs_it(
    fake: FakeBuilder, make_lock: MakeLock, lines: list[str]
) -> None:
    lock = make_lock(a={}, b={"needs": ["a"]})
    artifact = supply.ensure(None, lock=lock)["a"]
    (artifact.path / "more").write_text("nobody stored it")
    assert supply.missing(None, lock=lock) == ("a",), "a prediction says so"
    again = supply.ensure(None, progress=lines.append, lock=lock)["a"]
    assert "[supply] artifact a in the cache is damaged: its content is not what was stored; it is built again" in lines
    assert (again.built, again.sha256, sorted(path.name for path in again.path.iterdir())) == (
        True, artifact.sha256, ["file"],
    )  # fmt: skip
    assert fake.names() == ["a", "b", "a"]
    assert supply.missing(None, lock=lock) == ()


def test_damage_that_keeps_size_and_time_is_found_by_verify(
    fake: FakeBuilder, make_lock: MakeLock, lines: list[str]
) -> None:
    del fake
    lock = make_lock(a={}, b={})
    path = supply.ensure(None, progress=lines.append, lock=lock)["a"].path / "file"
    before = path.stat()
    path.write_bytes(b"X" * before.st_size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    lines.clear()
    assert not check(lock, None, progress=lines.append)
    assert [line.split(":")[0] for line in lines] == ["a", "b"]
    assert "DAMAGED" in lines[0]
    assert "ci/supply build --rebuild a" in lines[0]
    assert "DAMAGED" not in lines[1]
    supply.ensure("a", lock=lock, rebuild=True)
    assert check(lock, None, progress=lines.append)


def test_a_build_with_another_digest_than_the_lock_is_refused_and_not_stored(
    fake: FakeBuilder, make_lock: MakeLock, lines: list[str]
) -> None:
    del fake
    lock = make_lock(a={"sha256": "0" * 64})
    with pytest.raises(GroundupError, match=r"artifact a 1: the build has sha256 .*, the lock says 0000") as caught:
        supply.ensure("a", progress=lines.append, lock=lock)
    assert "artifacts.a.sha256" in caught.value.where
    assert supply.missing("a", lock=lock) == ("a",)


def test_an_artifact_with_a_damaged_manifest_is_named_and_built_again(
    fake: FakeBuilder, make_lock: MakeLock, lines: list[str]
) -> None:
    del fake
    lock = make_lock(a={})
    artifact = supply.ensure("a", lock=lock)["a"]
    (artifact.path.parent / "manifest.json").write_text("{")
    assert supply.ensure("a", progress=lines.append, lock=lock)["a"].built
    assert any("artifact a in the cache is damaged: its manifest" in line for line in lines)


def test_time_and_cpu_of_a_build_are_recorded_children_included(
    fake: FakeBuilder, make_lock: MakeLock, lines: list[str], cache: Path
) -> None:
    del fake
    lock = make_lock(a={"inputs": {"seconds": 0.3}})
    artifact = supply.ensure("a", progress=lines.append, lock=lock)["a"]
    manifest = json.loads((artifact.path.parent / "manifest.json").read_text())
    assert manifest["wall_seconds"] >= 0.3
    assert 0 < manifest["cpu_seconds"] < manifest["wall_seconds"], "a sleeping child costs no CPU"
    assert manifest["sha256"] == artifact.sha256
    assert "a" in table(lock, None)
    assert artifact.sha256[:16] in table(lock, None)
    assert cache in artifact.path.parents


def test_building_twice_tells_reproducible_artifacts_from_others(
    fake: FakeBuilder, make_lock: MakeLock, lines: list[str]
) -> None:
    del fake
    lock = make_lock(same={}, other={"inputs": {"random": True}})
    assert rebuild_and_compare(lock, ["same"], progress=lines.append)
    assert not rebuild_and_compare(lock, ["other"], progress=lines.append)
    assert any(line.startswith("other: DIFFERS") for line in lines)


def test_progress_says_what_which_of_how_many_and_elapsed(
    fake: FakeBuilder, make_lock: MakeLock, lines: list[str]
) -> None:
    del fake
    supply.ensure(None, progress=lines.append, lock=make_lock(a={}, b={}), jobs=1)
    assert re.fullmatch(r"\[supply 0/2 \d\d:\d\d\] a: 1, begins", lines[0])
    assert re.match(r"\[supply 2/2 \d\d:\d\d\] b: done in \d\d:\d\d", lines[-1])


def test_two_runs_at_once_build_an_artifact_once(make_lock: MakeLock, tmp_path: Path, fake: FakeBuilder) -> None:
    del fake
    lock = make_lock(a={"inputs": {"seconds": 0.5, "random": True}})
    context = multiprocessing.get_context("fork")
    runs = [context.Process(target=_ensure, args=(lock, tmp_path / str(number))) for number in range(2)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    first, second = ((tmp_path / str(number)).read_text() for number in range(2))
    assert first.splitlines()[-1] == second.splitlines()[-1], "both have the same digest of a random build"


@pytest.mark.root
def test_a_killed_run_leaves_no_process_and_the_next_one_builds(
    make_lock: MakeLock, tmp_path: Path, fake: FakeBuilder, cache: Path
) -> None:
    del fake
    mark = f"{86400 + os.getpid()}"
    killed = make_lock(a={"inputs": {"seconds": mark}})
    run = multiprocessing.get_context("fork").Process(target=_ensure, args=(killed, tmp_path / "never"))
    run.start()
    assert run.pid is not None
    _until(lambda: _running(mark))
    os.kill(run.pid, signal.SIGKILL)
    run.join()
    _until(lambda: not _running(mark))
    assert list((cache / "artifacts/a").glob(".building-*")), "what a killed run leaves is still there"
    lock = make_lock(a={})
    supply.ensure("a", lock=lock)
    assert not list((cache / "artifacts/a").glob(".building-*"))


@pytest.mark.root
def test_what_a_build_mounts_is_not_seen_by_the_machine_and_gone_after_a_kill(
    make_lock: MakeLock, tmp_path: Path, fake: FakeBuilder, cache: Path
) -> None:
    del fake
    mark = f"{172800 + os.getpid()}"
    run = multiprocessing.get_context("fork").Process(
        target=_ensure, args=(make_lock(a={"inputs": {"seconds": mark, "mount": True}}), tmp_path / "never")
    )
    run.start()
    assert run.pid is not None
    _until(lambda: _running(mark))
    assert (cache / "mounted").exists(), "the build did mount something"
    assert str(cache) not in Path("/proc/self/mountinfo").read_text()
    os.kill(run.pid, signal.SIGKILL)
    run.join()
    _until(lambda: not _running(mark))
    supply.ensure("a", lock=make_lock(a={}))
    assert (cache / "kept").read_text() == "of the machine"


def _ensure(lock: Lock, report: Path) -> None:
    found = supply.ensure("a", lock=lock)
    report.write_text(f"{found['a'].built}\n{found['a'].sha256}")


def _running(mark: str) -> bool:
    commands = (path / "cmdline" for path in Path("/proc").iterdir() if path.name.isdigit())
    return any(b"sleep\0" + mark.encode() in command.read_bytes() for command in commands if command.exists())


def _until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not true():
        assert time.monotonic() < end, "nothing happened for 120 s"
        time.sleep(0.02)
