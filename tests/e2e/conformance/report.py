"""Results of Kubernetes' conformance tests: from ginkgo's report to docs/conformance.md.

Usage: ci/run python tests/e2e/conformance/report.py        writes the results of the last run into the page
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import cache_dir

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/conformance.md"
LEFT_OUT = Path(__file__).parent / "left_out.yml"
BEGIN, END = "<!-- results: ci/run python tests/e2e/conformance/report.py -->", "<!-- /results -->"
LABEL = "Conformance"
FIRST, ALONE = "report.json", "alone.json"  # the run, and what failed in it once more, by itself
RUN = "run.json"  # what the reports do not say: version of Kubernetes, tests at once

Verdict = Literal["passed", "failed", "left out"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One conformance test."""

    name: str
    verdict: Verdict
    reason: str = ""  # why it failed or was left out
    alone: bool = False  # passed by itself, after it had failed beside others


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What is not run, with the reason of each."""

    labels: Mapping[str, str]
    names: Mapping[str, str]  # regular expression -> reason

    @property
    def filter(self) -> str:
        """The tests to run, in ginkgo's words."""
        return " && ".join([LABEL, *(f"!{label}" for label in self.labels)])

    def reason(self, name: str, labels: Iterable[str]) -> str | None:
        """Return why a test is not run, None when it is."""
        reasons = [why for label, why in self.labels.items() if label in labels]
        reasons += [why for pattern, why in self.names.items() if re.search(pattern, name)]
        return reasons[0] if reasons else None


def left_out() -> LeftOut:
    """Read the list beside this file."""
    return LeftOut(**yaml.safe_load(LEFT_OUT.read_text(encoding="utf-8")))


def place() -> Path:
    """Return where a run leaves its log and its reports."""
    return cache_dir() / "logs/conformance"


def read(report: Path, rules: LeftOut) -> list[Result]:
    """Return the conformance tests of a report. One that did not run, without a reason of ours, has failed."""
    found = []
    for spec in _specs(report):
        labels = {*(label for each in spec["ContainerHierarchyLabels"] or [] for label in each or [])}
        labels |= {*(spec["LeafNodeLabels"] or [])}
        if LABEL not in labels:
            continue
        name = " ".join([*(spec["ContainerHierarchyTexts"] or []), spec["LeafNodeText"]])
        said = spec.get("Failure", {}).get("Message", "")
        if spec["State"] == "passed":
            found.append(Result(name=name, verdict="passed"))
        elif spec["State"] == "skipped" and (reason := rules.reason(name, labels)):
            found.append(Result(name=name, verdict="left out", reason=reason))
        else:
            found.append(Result(name=name, verdict="failed", reason=said or f"{spec['State']}, and no one says why"))
    return found


def merge(first: Sequence[Result], alone: Sequence[Result]) -> list[Result]:
    """Return ``first``, where a failed test that passed by itself has passed."""
    passed = {result.name for result in alone if result.verdict == "passed"}
    return [
        replace(result, verdict="passed", reason="", alone=True)
        if result.verdict == "failed" and result.name in passed
        else result
        for result in first
    ]


def results(directory: Path, rules: LeftOut) -> list[Result]:
    """Return the results of the run whose reports are in ``directory``."""
    first = read(directory / FIRST, rules)
    return merge(first, read(directory / ALONE, rules)) if (directory / ALONE).exists() else first


def of(found: Iterable[Result], verdict: Verdict) -> list[Result]:
    """Return the results with a verdict."""
    return [result for result in found if result.verdict == verdict]


def section(found: Sequence[Result], *, version: str, began: datetime, minutes: float, at_once: int) -> str:
    """Return the results as Markdown: counts of each group, what failed, what was left out and why."""
    passed, failed, out = of(found, "passed"), of(found, "failed"), of(found, "left out")
    lines = [
        f"Kubernetes {version}, {began:%Y-%m-%d}: {len(found)} conformance tests, **{len(passed)} passed, "
        f"{len(failed)} failed**, {len(out)} left out; {minutes:.0f} minutes, {at_once} at a time.",
        "",
        "| group | passed | failed | left out |",
        "|---|---|---|---|",
    ]
    for group in sorted({_group(result) for result in found}):
        counts = [sum(_group(result) == group for result in some) for some in (passed, failed, out)]
        lines.append(f"| {group} | {' | '.join(map(str, counts))} |")
    lines += _table("failed | why", [(result.name, result.reason) for result in failed])
    lines += _table("passed by itself, failed beside others", [(result.name,) for result in passed if result.alone])
    reasons = {reason: [result.name for result in out if result.reason == reason] for reason in {r.reason for r in out}}
    lines += _table("left out | why", [(name, why) for why, names in sorted(reasons.items()) for name in sorted(names)])
    return "\n".join(lines)


def write(page: Path, text: str, *, begin: str = BEGIN) -> None:
    """Put the results between the marks of the page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{begin}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def _table(head: str, rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    cells = [" | ".join(_cell(text) for text in row) for row in rows]
    return ["", f"| {head} |", f"|{'---|' * len(rows[0])}", *(f"| {row} |" for row in cells)]


def _cell(text: str) -> str:
    line = text.strip().splitlines()[0] if text.strip() else ""
    return re.sub(r"([|<>*_\[\]])", r"\\\1", line[:300])


def _group(result: Result) -> str:
    found = re.match(r"\[([\w-]+)\]", result.name)
    return found[1] if found else "other"


def _specs(report: Path) -> Iterable[dict[str, Any]]:
    for suite in json.loads(report.read_text(encoding="utf-8")):
        yield from (spec for spec in suite["SpecReports"] or [] if spec["LeafNodeType"] == "It")


def main() -> int:
    """Write the page from the last run."""
    found = results(place(), left_out())
    suites = json.loads((place() / FIRST).read_text(encoding="utf-8"))
    began, ended = (datetime.fromisoformat(re.sub(r"\.\d+", "", suites[0][key])) for key in ("StartTime", "EndTime"))
    minutes = (ended - began).total_seconds() / 60
    write(PAGE, section(found, began=began, minutes=minutes, **json.loads((place() / RUN).read_text(encoding="utf-8"))))
    print(f"{PAGE}: {len(of(found, 'passed'))} passed, {len(of(found, 'failed'))} failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
