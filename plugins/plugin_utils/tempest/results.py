"""What became of each test: from the lines of `stream.py`, with the reason that explains it, if there is one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .explained import Explained

Verdict = Literal["passed", "failed", "skipped"]
_FIXTURE = re.compile(r"(setUpClass|tearDownClass) \((?P<name>.+)\)")
_PASSED = ("success", "xfail")
_SKIPPED = "skip"
NOT_RUN = "it was chosen and did not run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One test."""

    test: str
    verdict: Verdict
    seconds: float = 0.0
    said: str = ""  # why it was skipped, or the end of its failure
    why: str = ""  # what explains it; "": nothing does
    option: str = ""  # of tempest.conf, where the test's configuration is the cause

    @property
    def bad(self) -> bool:
        """Return whether it counts against the cloud."""
        return self.verdict == "failed" and not self.why


def results(chosen: Sequence[str], lines: Iterable[Mapping[str, Any]], explained: Explained) -> list[Result]:
    """Return a result for each ``chosen`` test, and for each clean-up of a class that failed.

    A class whose preparation was skipped or failed reports none of its tests: all of them were.
    """
    said: dict[str, Mapping[str, Any]] = {}
    classes: dict[str, Mapping[str, Any]] = {}
    ends: list[Mapping[str, Any]] = []
    for line in lines:
        fixture = _FIXTURE.fullmatch(str(line["test"]))
        if not fixture:
            said[str(line["test"])] = line
        elif fixture[1] == "setUpClass":
            classes[fixture["name"]] = line
        elif line["status"] not in (*_PASSED, _SKIPPED):
            ends.append(line)
    found = [_result(test, said.get(test) or classes.get(_class(test)), explained) for test in chosen]
    return [*found, *(_result(str(line["test"]), line, explained) for line in ends)]


def _class(test: str) -> str:
    """Return the class of a test: its name without attributes and method."""
    return test.partition("[")[0].rpartition(".")[0]


def _result(test: str, line: Mapping[str, Any] | None, explained: Explained) -> Result:
    if line is None:
        return Result(test=test, verdict="failed", said=NOT_RUN)
    seconds, text = float(line["seconds"]), str(line["why"])
    if line["status"] in _PASSED:
        return Result(test=test, verdict="passed", seconds=seconds)
    if line["status"] == _SKIPPED:
        reason = explained.of_skip(text)
        verdict: Verdict = "skipped"
    else:
        text = text or f"it ended as {line['status']}"
        reason = explained.of_failure(test, text)
        verdict = "failed"
    why, option = (reason.why, reason.option) if reason else ("", "")
    return Result(test=test, verdict=verdict, seconds=seconds, said=text, why=why, option=option)


def last_line(text: str) -> str:
    """Return the line of a failure that says most: the last that is no detail."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in reversed(lines) if not line.startswith(("Details:", "}", "{"))), "no reason given")


def skips(found: Iterable[Result]) -> Iterator[tuple[int, str, str, str]]:
    """Yield number, reason, explanation and option of skipped tests, the most first."""
    counts: dict[tuple[str, str, str], int] = {}
    for one in found:
        if one.verdict == "skipped":
            key = (one.said, one.why, one.option)
            counts[key] = counts.get(key, 0) + 1
    for key, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        yield (count, *key)
