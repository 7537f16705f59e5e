"""Runs of tests against one cloud: a directory each, with what must be known after a kill."""

from __future__ import annotations

import json
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ...module_utils._base.files import write_file
from ...module_utils._base.locks import locked
from ..errors import GroundupError
from ..paths import state_dir
from .program import CONF, LOG

RESULTS, JUNIT = "results.json", "junit.xml"
FOREIGN = "clouds.yaml"  # directory of clouds that are not a site: no site has such a name
RALLY, RALLY_LOG = "rally", "rally.log"  # directory of its configuration and database, which have a password
_KEPT = 5  # ended runs whose files stay
_RUNNING = "running"  # holds the prefix of a run that has not ended
# An entry of the log begins with its time and process; a request's own entry comes before that of its answer.
_ENTRY = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\S* (\d+) (\w+) ")


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRun:
    """A run. Its ``prefix`` is that of everything which it makes under a name of its own."""

    directory: Path
    prefix: str

    def made(self, kind: str) -> list[str]:
        """Return ids of each ``project`` or ``user`` that its tests made, by their log: names are not unique."""
        log = self.directory / LOG
        if not log.is_file():
            return []
        with log.open(encoding="utf-8", errors="replace") as lines:
            return list(dict.fromkeys(_made(kind, lines)))


def _made(kind: str, lines: Iterable[str]) -> Iterator[str]:
    request = re.compile(rf"Request \(.*: 201 POST \S+/v3/{kind}s\s")
    answer = re.compile(rf'"{kind}":\s*{{.*"id":\s*"([0-9a-f]{{32}})"')
    process, waiting = "", set[str]()
    for line in lines:
        if entry := _ENTRY.match(line):
            process = entry[1]
            if entry[2] == "INFO":
                (waiting.add if request.search(line) else waiting.discard)(process)
        elif process in waiting and (found := answer.search(line)):
            waiting.discard(process)
            yield found[1]


def home(name: str, *, site: bool) -> Path:
    """Return the directory of the runs against site ``name``, or against that cloud of clouds.yaml."""
    return (state_dir(name) if site else state_dir(FOREIGN) / name) / "tempest"


@contextmanager
def begun(place: Path) -> Iterator[SuiteRun]:
    """Yield a new run below ``place``; one at a time. Removes its configuration, which has a password, at the end."""
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with locked(place / ".lock", timeout=1.0):
            now = datetime.now(UTC)
            run = SuiteRun(directory=place / f"{now:%Y-%m-%dT%H%M%SZ}", prefix=f"gu{secrets.token_hex(4)}")
            run.directory.mkdir(mode=0o700)
            write_file(run.directory / _RUNNING, run.prefix.encode(), mode=0o600)
            try:
                yield run
            finally:
                (run.directory / CONF).unlink(missing_ok=True)
                _forget_old(place)
    except TimeoutError as error:
        raise GroundupError(
            "another run of tests is under way",
            where=str(place),
            why="both would see each other's instances and quotas",
            remedy="wait for its end, or stop it",
        ) from error


def killed(place: Path, *, but: SuiteRun) -> list[SuiteRun]:
    """Return runs below ``place`` that left something. Only the holder of the lock may ask."""
    return [
        SuiteRun(directory=mark.parent, prefix=mark.read_text(encoding="ascii").strip())
        for mark in sorted(place.glob(f"*/{_RUNNING}"))
        if mark.parent != but.directory
    ]


def cleaned(run: SuiteRun) -> None:
    """Record that nothing is left of a run in the cloud."""
    (run.directory / CONF).unlink(missing_ok=True)
    shutil.rmtree(run.directory / RALLY, ignore_errors=True)
    (run.directory / _RUNNING).unlink(missing_ok=True)


def last(place: Path, suite: str = "") -> dict[str, object]:
    """Return the results of the last run (of ``suite``) that has any. Raises GroundupError without one."""
    for path in sorted(place.glob(f"*/{RESULTS}"), reverse=True):
        found = dict(json.loads(path.read_text(encoding="utf-8")))
        if suite in ("", found["suite"]):
            return found
    raise GroundupError(
        f"there are no results {suite and f'of suite {suite}'}".rstrip(), where=str(place),
        why="no run of such tests has ended", remedy="run the playbook groundup.cloud.tempest",
    )  # fmt: skip


def _forget_old(place: Path) -> None:
    ended = [path for path in sorted(place.glob("*/"), reverse=True) if not (path / _RUNNING).exists()]
    for path in ended[_KEPT:]:
        shutil.rmtree(path)
