"""A machine's journal: one line for each change of its state, on the controller's disk."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

from ...module_utils._base import files
from ...module_utils._base.locks import locked
from ..errors import GroundupError
from ..paths import state_dir
from .way import State, WayStep

RELEASED = 30.0  # seconds within which the processes of a killed run end
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")  # the same as `groundup-contact` accepts


def home_of(site: str) -> Path:
    """Return the directory of a site's journals and runs."""
    return state_dir(site) / "metal"


def file_of(home: Path, host: str) -> Path:
    """Return the file of a machine's journal. Raises GroundupError for an invalid name: it becomes a file name."""
    if not _NAME.fullmatch(host):
        raise GroundupError(
            f"{host[:80]!a} is no name of a machine",
            where=str(home),
            why="names are files here, and in addresses of the seed",
            remedy="name it with lower-case letters, digits and hyphens",
        )
    return home / f"{host}.jsonl"


@contextmanager
def alone(home: Path, host: str) -> Iterator[None]:
    """Lock a machine against other installations and erasures. Raises GroundupError when one is under way."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as held:
        try:
            held.enter_context(locked(home / f".{host}.way.lock", timeout=RELEASED))
        except TimeoutError:
            raise GroundupError(
                "another run is at work on it",
                where=host,
                why="each would give it a token of its own, and it knows one",
                remedy="wait until that run has ended, then run this again",
            ) from None
        yield


class Journal:
    """One machine's journal, append-only."""

    def __init__(self, path: Path) -> None:
        """Take the file, which the first line creates."""
        self._path = path
        self._last = self.lines()[-1]

    def lines(self) -> list[dict[str, Any]]:
        """Return all lines, one empty line without any. Skip incomplete lines of killed runs."""
        empty: dict[str, Any] = {}
        found: list[dict[str, Any]] = []
        for line in (files.read(self._path) or "").splitlines():
            with suppress(ValueError):
                found.append(dict(json.loads(line)))
        return found or [empty]

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the journal, to add lines that depend on those in it."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(self._path.with_name(f".{self._path.stem}.journal.lock")):
            yield

    @property
    def installed(self) -> bool:
        """Return whether the machine called home, and was not retired since."""
        return self._end(("installed", "retired")) == "installed"

    @property
    def leaving(self) -> bool:
        """Return whether its retirement has begun and not ended."""
        return self._end(("installed", "retiring", "retired")) == "retiring"

    @property
    def last(self) -> Mapping[str, Any]:
        """The last line, empty before the first."""
        return self._last

    @property
    def doing(self) -> str:
        """The activity in the last line."""
        return str(self._last.get("doing") or "")

    def _end(self, states: tuple[State, ...]) -> str:
        return next((str(line["state"]) for line in reversed(self.lines()) if line.get("state") in states), "")

    def reached(self, state: State) -> bool:
        """Return whether the machine's last state is ``state`` or a later one; a failure is later than all."""
        order, last = get_args(State), self._last.get("state")
        return last in order and order.index(last) >= order.index(state)

    def note(self, step: WayStep) -> bool:
        """Add a line when the step differs from the last one; return whether it does."""
        what = {"state": step.state, "doing": step.doing, "card": asdict(step.card) if step.card else None}
        if what == {key: self._last.get(key) for key in what}:
            return False
        self.add({"time": round(time.time(), 3), **what})
        return True

    def add(self, line: Mapping[str, Any]) -> None:
        """Add a line and sync it to disk, on a new line even after an incomplete one."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._path.open("a+b") as stream:
            whole = not stream.tell() or os.pread(stream.fileno(), 1, stream.tell() - 1) == b"\n"
            stream.write(b"" if whole else b"\n")
            stream.write(json.dumps(dict(line)).encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
        self._last = dict(line)
