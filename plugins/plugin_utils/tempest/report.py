"""What a run says: a table, a document, JUnit's form, a section of a page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from xml.etree import ElementTree as ET

from ..progress import clock
from .explained import Explanation
from .results import Result, Verdict, last_line, skips
from .suites import area

_COLUMNS = ("of", "passed", "failed", "explained", "skipped", "left out")
_OPTION = "option of tempest.conf"
_LONGEST = 300  # characters of a cell of a page
_SHOWN = 110  # characters of a reason on the screen


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A run that has ended."""

    cloud: str
    suite: str
    began: str  # UTC
    seconds: float
    workers: int
    versions: Mapping[str, str]  # of Tempest and its plugins
    results: Sequence[Result]
    left_out: Mapping[str, str]  # test -> why
    mended: Sequence[Explanation]  # entries of explained failures that passed
    not_deleted: Sequence[str]

    @property
    def broken(self) -> bool:
        """Return whether something counts against the cloud."""
        return bool(self.not_deleted) or any(one.bad for one in self.results)

    def count(self, verdict: Verdict) -> int:
        """Return how many tests ended so; failures without those that are explained."""
        return sum(one.verdict == verdict and (verdict != "failed" or one.bad) for one in self.results)

    @property
    def line(self) -> str:
        """Return it in one line."""
        explained = sum(bool(one.why) for one in self.results if one.verdict == "failed")
        more = f" ({explained} more explained)" if explained else ""
        return (
            f"{self.cloud}, {self.suite}: {self.count('passed')} passed, {self.count('failed')} failed{more}, "
            f"{self.count('skipped')} skipped, {len(self.left_out)} left out; {clock(self.seconds)}"
        )

    def document(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return {**asdict(self), "broken": self.broken, "line": self.line}


def of_document(found: Mapping[str, Any]) -> Outcome:
    """Return the run of a document."""
    values = {name: value for name, value in found.items() if name not in ("broken", "line")}
    values["results"] = [Result(**one) for one in values["results"]]
    values["mended"] = [Explanation(**one) for one in values["mended"]]
    return Outcome(**values)


def rows(outcome: Outcome) -> list[tuple[str, ...]]:
    """Return the table's rows, and last their sum: words of `_COLUMNS`."""
    counts: dict[str, list[int]] = {}
    for one in outcome.results:
        column = {"passed": 0, "failed": 1 if one.bad else 2, "skipped": 3}[one.verdict]
        counts.setdefault(area(_named(one.test)), [0] * 5)[column] += 1
    for test in outcome.left_out:
        counts.setdefault(area(test), [0] * 5)[4] += 1
    total = [sum(column) for column in zip(*counts.values(), strict=True)] or [0] * 5
    return [(name, *map(str, numbers)) for name, numbers in [*sorted(counts.items()), ("all", total)]]


def _named(test: str) -> str:
    """Return the name of a test, or of the class whose clean-up failed."""
    return test.partition("(")[2].rstrip(")") or test


def table(outcome: Outcome) -> str:
    """Return the table for a screen, with failures and the reasons of skips."""
    lines = [_COLUMNS, *rows(outcome)]
    widths = [max(len(line[number]) for line in lines) for number in range(len(_COLUMNS))]
    text = ["  ".join([line[0].ljust(widths[0]), *(w.rjust(n) for w, n in zip(line[1:], widths[1:], strict=True))])
            for line in lines]  # fmt: skip
    for number, said, why, option in skips(outcome.results):
        text.append(f"skipped {number:4}  {_short(said)}{_because(why, option)}")
    for one in outcome.results:
        if one.verdict == "failed":
            word = "explained" if one.why else "FAILED"
            text.append(f"{word}  {one.test}\n    {_short(last_line(one.said))}{_because(one.why, one.option)}")
    text += [f"passes again, take it out of explained.yml: {one.test} ({one.why})" for one in outcome.mended]
    text += [f"not deleted: {line}" for line in outcome.not_deleted]
    return "\n".join([*text, outcome.line])


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _because(why: str, option: str) -> str:
    return (f": {why}" if why else "") + (f" ({option})" if option else "")


def junit(outcome: Outcome) -> bytes:
    """Return the results in JUnit's form, which CI systems read. An explained failure is a skip there."""
    suite = ET.Element(
        "testsuite", name=f"tempest {outcome.suite}", tests=str(len(outcome.results)), timestamp=outcome.began,
        failures=str(outcome.count("failed")), time=f"{outcome.seconds:.1f}",
        skipped=str(sum(one.verdict != "passed" and not one.bad for one in outcome.results)),
    )  # fmt: skip
    for one in outcome.results:
        name, _, rest = one.test.partition("[")
        case = ET.SubElement(
            suite, "testcase", classname=name.rpartition(".")[0], name=f"{name.rpartition('.')[2]}[{rest}".rstrip("["),
            time=f"{one.seconds:.2f}",
        )  # fmt: skip
        if one.verdict != "passed":
            kind = "failure" if one.bad else "skipped"
            fault = ET.SubElement(case, kind, message=_printable(one.why or last_line(one.said)))
            fault.text = _printable(one.said)
    return bytes(ET.tostring(suite, encoding="utf-8", xml_declaration=True))


def _printable(text: str) -> str:
    """Return ``text`` without what XML does not allow."""
    return "".join(one for one in text if one.isprintable() or one in "\n\t")


def section(outcome: Outcome) -> str:
    """Return the results as a section of a page."""
    versions = ", ".join(f"{name} {version}" for name, version in sorted(outcome.versions.items()))
    failed = [one for one in outcome.results if one.verdict == "failed"]
    parts: dict[str, tuple[Sequence[str], Sequence[Sequence[str]]]] = {
        "Failed": (("test", "it says"), [(one.test, last_line(one.said)) for one in failed if one.bad]),
        "Failed, explained": (("test", "why", _OPTION), [(one.test, one.why, one.option) for one in failed if one.why]),
        "Skipped": (
            ("reason", "tests", "why", _OPTION),
            [(said, str(number), why, option) for number, said, why, option in skips(outcome.results)],
        ),
        "Left out": (("test", "why"), sorted(outcome.left_out.items())),
    }
    counts = (
        f"**{outcome.count('passed')} passed, {outcome.count('failed')} failed**, {outcome.count('skipped')} skipped, "
        f"{len(outcome.left_out)} left out; {outcome.seconds / 60:.0f} minutes, {outcome.workers} at a time"
    )
    lines = [
        f"Site `{outcome.cloud}`, suite `{outcome.suite}`, {outcome.began[:10]}: {len(outcome.results)} tests,",
        f"{counts}. {versions}.", "", *_markdown(_COLUMNS, rows(outcome)),
    ]  # fmt: skip
    for title, (columns, found) in parts.items():
        lines += ["", f"#### {title}", "", *_markdown(columns, found)] if found else []
    return "\n".join(lines)


def _markdown(columns: Sequence[str], found: Iterable[Sequence[str]]) -> list[str]:
    def line(words: Sequence[str]) -> str:
        return f"| {' | '.join(map(_cell, words))} |"

    return [line(columns), "|---" * len(columns) + "|", *(line(words) for words in found)]


def _cell(text: str) -> str:
    return re.sub(r"([|<>*_\[\]])", r"\\\1", " ".join(text.split())[:_LONGEST])


def text(outcome: Outcome) -> bytes:
    """Return the document as JSON."""
    return json.dumps(outcome.document(), indent=1).encode() + b"\n"
