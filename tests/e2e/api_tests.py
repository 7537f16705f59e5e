"""What the last runs of `groundup.cloud.tempest` say, for people and for the tier `cloud`.

ci/run python tests/e2e/api_tests.py page SITE...          # the last run of each suite into docs/tempest.md
ci/run python tests/e2e/api_tests.py cheapest SITE [30]    # the quickest smoke tests that passed, as tempest/cloud.txt
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site
from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest import report, runs
from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest.suites import SUITES
from ansible_collections.groundup.cloud.tests.e2e.conformance.report import write

PAGE = COLLECTION / "docs/tempest.md"
BEGIN = "<!-- results: ci/run python tests/e2e/api_tests.py page SITE... -->"
LIST = Path(__file__).with_name("tempest") / "cloud.txt"
HEAD = """\
# Tests of the tier `cloud`: the quickest of the suite `smoke`, by their seconds in a run on a lab. Written by
# ci/run python tests/e2e/api_tests.py cheapest SITE
"""
NUMBER = 30


def outcomes(sites: Sequence[str]) -> Iterator[report.Outcome]:
    """Yield the last run of each suite against each site; nothing for a suite that was not run."""
    for site in sites:
        for suite in SUITES:
            with suppress(GroundupError):
                yield report.of_document(runs.last(runs.home(load_site(site).site, site=True), suite))


def cheapest(outcome: report.Outcome, number: int) -> list[str]:
    """Return the names of the quickest tests that passed."""
    passed = sorted((one for one in outcome.results if one.verdict == "passed"), key=lambda one: one.seconds)
    return sorted(one.test.partition("[")[0] for one in passed[:number])


def main(arguments: Sequence[str]) -> int:
    """Run a command."""
    match arguments:
        case ["page", *sites] if sites:
            found = list(outcomes(sites))
            text = "\n\n".join(f"### {one.cloud}, {one.suite}\n\n{report.section(one)}" for one in found)
            write(PAGE, text, begin=BEGIN)
            print("\n".join(one.line for one in found) or "no run has ended")
        case ["cheapest", site, *number]:
            home = runs.home(load_site(site).site, site=True)
            names = cheapest(report.of_document(runs.last(home, "smoke")), int(number[0]) if number else NUMBER)
            LIST.write_text(HEAD + "".join(f"{name}\n" for name in names), encoding="utf-8")
            print(f"{LIST}: {len(names)} tests")
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
