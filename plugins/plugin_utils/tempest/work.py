"""One run of tests against a cloud, from its questions to its table."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...module_utils._base.files import write_file
from ..cloud.connection import ERRORS, said
from ..cloud.steps import interruptible
from ..errors import GroundupError
from ..progress import SILENCE, Progress, clock, reminder
from ..site_names import entering, hosts_text
from . import explained, ground, report, runs, settings, trend
from .program import CONF, Program
from .results import NOT_RUN, results
from .suites import SUITES, Suite
from .target import Target

if TYPE_CHECKING:
    from openstack.connection import Connection

_HOSTS = "hosts"

_PLUGIN = re.compile(r"(\w+?)_tempest_plugin\.")  # and the service that it tests


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a run is to do."""

    suite: str
    regex: str = ""  # of the suite's tests; "": all
    tests: Path | None = None  # file with tests, one a line, in place of the suite's
    workers: int
    image: Path
    user: str
    memory_mb: int
    disk_gb: int
    timeout: float = 300.0  # seconds for the image
    network: str = ""
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # over ours
    explained: Path | None = None  # before ours


def run_tests(
    cloud: Connection, target: Target, options: Options, *, place: Path, home: Path, say: Progress
) -> tuple[report.Outcome, Path]:
    """Run tests; return what became of them, and the directory with it. Raises GroundupError.

    ``place``: of all runs against this cloud; ``home``: Tempest's environment. What the run makes in the cloud is
    deleted, also after a failure or a signal; what a killed run left is deleted first. Raises KeyboardInterrupt after a
    signal, with the results of tests that had ended written.
    """
    known = explained.load(*filter(None, (options.explained, explained.SHIPPED)))
    suite = SUITES[options.suite]
    began, start = datetime.now(UTC), time.monotonic()
    with runs.begun(place) as run, interruptible() as deaf:
        asked = ground.ask(cloud, target, network=options.network)
        program = _program(target, run, home)
        left, lines = list[str](), list[Mapping[str, Any]]()
        stopped: KeyboardInterrupt | None = None
        with ground.made(
            cloud, target, run, image=options.image, user=options.user, memory_mb=options.memory_mb,
            disk_gb=options.disk_gb, timeout=options.timeout,
        ) as made:  # fmt: skip
            found = settings.sections(target, asked, made, suite, directory=run.directory)
            conf = settings.text(settings.merged(found, options.settings))
            write_file(run.directory / CONF, conf.encode(), mode=0o600)
            try:
                for old in runs.killed(place, but=run):
                    say(f"[tempest] deleting what the run {old.directory.name} left")
                    left += _clean(cloud, old, program)
                names = trend.NAMES if options.suite == trend.SUITE else program.tests()
                chosen, out = choose(names, suite, options, known, target.services)
                if options.suite == trend.SUITE:
                    say(f"[tempest] Rally: {', '.join(chosen)}, {trend.TIMES} times each")
                    lines += trend.measure(program, made, target, chosen, place=place)
                else:
                    _follow(program, chosen, options.workers, say, lines)
            except KeyboardInterrupt as signal:
                if not lines:
                    raise
                stopped = signal  # what has ended is worth keeping
            finally:
                deaf()
                say("[tempest] deleting what the tests left")
                left += _clean(cloud, run, program)
        judged = results(chosen, lines, known)
        if stopped:
            out |= {one.test: "the run was stopped before" for one in judged if one.said == NOT_RUN}
            judged = [one for one in judged if one.test not in out]
        outcome = report.Outcome(
            cloud=target.name, suite=options.suite, began=f"{began:%Y-%m-%dT%H:%M:%SZ}", workers=options.workers,
            seconds=round(time.monotonic() - start, 1), versions=_versions(home), results=judged, left_out=out,
            mended=known.mended(one.test for one in judged if one.verdict == "passed"), not_deleted=left,
        )  # fmt: skip
        write_file(run.directory / runs.JUNIT, report.junit(outcome), mode=0o644)
        write_file(run.directory / runs.RESULTS, report.text(outcome), mode=0o644)
        if stopped:
            say(outcome.line)
            raise stopped
        return outcome, run.directory


def choose(
    names: Sequence[str], suite: Suite, options: Options, known: explained.Explained, services: frozenset[str]
) -> tuple[list[str], dict[str, str]]:
    """Return the tests to run, and those left out with the reason. Raises GroundupError when there are none."""
    if options.tests is None:
        wanted = [name for name in suite.of(names) if re.search(options.regex, name)]
    else:
        lines = [line.strip() for line in options.tests.read_text(encoding="utf-8").splitlines()]
        listed = {line for line in lines if line and not line.startswith("#")}
        wanted = [name for name in names if name in listed or name.partition("[")[0] in listed]
        if unknown := sorted(listed - {*wanted, *(name.partition("[")[0] for name in wanted)}):
            raise GroundupError(
                f"Tempest has no test {unknown[0]}" + (f", nor {len(unknown) - 1} more" if unknown[1:] else ""),
                where=str(options.tests), why="it would be taken for one that passed",
                remedy="write names as `tests.txt` of a run has them",
            )  # fmt: skip
    # Not every plugin asks whether its service is there: tests of one that is not would fail, each after its accounts.
    plugins = {name: _PLUGIN.match(name) for name in wanted}
    out = {name: f"there is no {of[1]}" for name, of in plugins.items() if of and of[1] not in services}
    out |= known.left_out(wanted)
    if not (chosen := [name for name in wanted if name not in out]):
        raise GroundupError(
            "no test is chosen", where="options suite, regex, tests", why="a run of nothing proves nothing",
            remedy=f"choose a suite of {', '.join(SUITES)}, and a regular expression that some of its tests match",
        )  # fmt: skip
    return chosen, out


def _program(target: Target, run: runs.SuiteRun, home: Path) -> Program:
    enter: list[str] = []
    if target.names:
        hosts = run.directory / _HOSTS
        write_file(hosts, hosts_text(Path("/etc/hosts").read_text("utf-8"), target.names, target.name).encode(),
                   mode=0o644)  # fmt: skip
        enter = entering(hosts)
    return Program(
        home=home, directory=run.directory, enter=enter, places=sorted({*target.names, *target.names.values()}),
        ca=target.ca, timeout=settings.test_timeout(target),
    )  # fmt: skip


def _clean(cloud: Connection, run: runs.SuiteRun, program: Program) -> list[str]:
    """Delete what a run left. An error of the cloud is what could not be deleted."""
    try:
        left = ground.clean(cloud, run, program)
    except ERRORS as error:
        left = [f"of run {run.directory.name}: {said(error)}"]
    if not left:
        runs.cleaned(run)
    return left


def _follow(
    program: Program, chosen: Sequence[str], workers: int, say: Progress, lines: list[Mapping[str, Any]]
) -> None:
    """Run tests, show failures at once and progress now and then; add the lines of `stream.py` to ``lines``."""
    counts = {"success": 0, "fail": 0, "skip": 0}
    start = last = time.monotonic()

    def ended(heard: Callable[[], None], line: Mapping[str, Any]) -> None:
        nonlocal last
        lines.append(line)
        counts[str(line["status"])] = counts.get(str(line["status"]), 0) + 1
        if line["status"] == "fail":
            say(f"[tempest] failed: {line['test']}")
        if (now := time.monotonic()) - last >= SILENCE:
            last = now
            say(
                f"[tempest] {counts['success']} passed, {counts['fail']} failed, {counts['skip']} skipped "
                f"of {len(chosen)}, {clock(now - start)}"
            )
        heard()

    say(f"[tempest] {len(chosen)} tests, {workers} at a time")
    with reminder(say, "[tempest] no test has ended lately") as heard:
        program.run(chosen, workers=workers, ended=lambda line: ended(heard, line))


def _versions(home: Path) -> dict[str, str]:
    """Return the versions of Tempest and its plugins."""
    (site,) = home.glob("lib/python3*/site-packages")
    found = {str(one.metadata["Name"]): one.version for one in distributions(path=[str(site)])}
    return {name: found[name] for name in sorted(found) if name == "tempest" or name.endswith("-tempest-plugin")}
