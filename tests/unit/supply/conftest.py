"""A cache of one's own, small builders that really write files, and locks made of them."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply import builders
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Entry, Lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.context import BuildContext
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.sbom import Component

from .registry import Registry, running
from .seed import Seed, serving

PINS = {"suite": "trixie", "go": "go1.26.8", "epoch": 1767225600}


class FakeBuilder:
    """Writes ``inputs.text`` and the digests of what it needs; remembers when it ran."""

    def __init__(self) -> None:
        """Version and sources that tests may change."""
        self.version = 1
        self.files: tuple[Path, ...] = ()
        self.runs: list[tuple[str, float, float]] = []
        self.meeting: tuple[str, ...] = ()  # artifacts whose builds go on once all of them are under way
        self._met = threading.Barrier(2)

    def sources(self, entry: Entry) -> tuple[Path, ...]:
        """What a test has set."""
        del entry
        return self.files

    def build(self, entry: Entry, context: BuildContext) -> None:
        """Write a file per need and one of its own, or fail when told to."""
        start = time.monotonic()
        if entry.name in self.meeting:
            self._met.wait(timeout=120)
        if entry.inputs.get("mount"):
            _mount_and_sleep(context, str(entry.inputs["seconds"]))
        context.run(["sleep", str(entry.inputs.get("seconds", 0))])
        if entry.inputs.get("fails"):
            context.run(["sh", "-c", "echo the compiler is unhappy; exit 3"])
        target = context.output / "file" if entry.kind == "files" else context.output
        text = [str(entry.inputs.get("text", entry.name)), *(a.sha256 for a in context.needs.values())]
        if entry.inputs.get("random"):
            text.append(str(time.time_ns()))
        target.write_text("\n".join(text))
        part = Component.of("golang", "example.test/module", f"v{entry.version}")
        context.components.append(replace(part, purl=entry.inputs.get("purl", part.purl)))
        self.runs.append((entry.name, start, time.monotonic()))

    def names(self) -> list[str]:
        """The artifacts built so far, in the order they were finished."""
        return [name for name, _, _ in self.runs]


def _mount_and_sleep(context: BuildContext, seconds: str) -> None:
    """Bind a directory of the machine into the scratch directory, as mmdebstrap does with /sys and /dev, and wait."""
    outside, inside = context.scratch.parents[3], context.scratch / "bound"
    (outside / "kept").write_text("of the machine")
    inside.mkdir()
    script = 'mount --bind "$1" "$2"; touch "$2/mounted"; exec sleep "$3"'
    context.run(["sh", "-euc", script, "sh", outside, inside, seconds])


@pytest.fixture(autouse=True)
def _without_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is not root runs commands of builds without namespaces; what namespaces promise is marked ``root``."""
    if os.geteuid() != 0:

        def run(context: BuildContext, command: Sequence[str | Path], *, env: Mapping[str, str] | None = None) -> None:
            context.commands.run(command, what=str(command[0]), env=env)

        monkeypatch.setattr(BuildContext, "run", run)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache directory."""
    monkeypatch.setenv("GROUNDUP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def registry() -> Iterator[Registry]:
    """An empty registry."""
    with running() as server:
        yield server


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeBuilder:
    """The builder called ``fake``."""
    module = ModuleType("fake")
    builder = FakeBuilder()
    module.BUILDER = builder  # type: ignore[attr-defined]  # what a builder's module has
    monkeypatch.setitem(sys.modules, f"{builders.__name__}.fake", module)
    return builder


@pytest.fixture
def make_lock() -> Callable[..., Lock]:
    """A lock from short entries: ``make_lock(a={}, b={"needs": ["a"]})``."""

    def make(**entries: dict[str, Any]) -> Lock:
        artifacts = {
            name: {"kind": "files", "version": "1", "builder": "fake", **entry} for name, entry in entries.items()
        }
        return Lock.model_validate({"format": 1, "pins": PINS, "artifacts": artifacts})

    return make


@pytest.fixture
def lines() -> list[str]:
    """Lines of progress; ``progress=lines.append``."""
    return []


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state directory of site ``unit``, not made yet."""
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    return tmp_path / "state" / "unit"


@pytest.fixture
def seed(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Seed]:
    """A seed that serves nothing yet."""
    del state
    with serving(tmp_path / "seed", monkeypatch) as there:
        yield there
