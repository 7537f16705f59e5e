"""Write the last run of each suite of `groundup.cloud.tempest` into docs/tempest.md.

ci/run python tests/e2e/api_tests.py page SITE...
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress

from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site
from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest import report, runs
from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest.suites import SUITES
from ansible_collections.groundup.cloud.tests.e2e.conformance.report import write

PAGE = COLLECTION / "docs/tempest.md"
BEGIN = "<!-- results: ci/run python tests/e2e/api_tests.py page SITE... -->"


def outcomes(sites: Sequence[str]) -> Iterator[report.Outcome]:
    """Yield the last run of each suite against each site; nothing for a suite that was not run."""
    for site in sites:
        for suite in SUITES:
            with suppress(GroundupError):
                yield report.of_document(runs.last(runs.home(load_site(site).site, site=True), suite))


def main(arguments: Sequence[str]) -> int:
    """Run a command."""
    match arguments:
        case ["page", *sites] if sites:
            found = list(outcomes(sites))
            text = "\n\n".join(f"### {one.cloud}, {one.suite}\n\n{report.section(one)}" for one in found)
            write(PAGE, text, begin=BEGIN)
            print("\n".join(one.line for one in found) or "no run has ended")
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
