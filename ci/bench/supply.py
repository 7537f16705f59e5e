#!/usr/bin/env python3
"""What a warm run of supply costs: everything is in the cache, nothing may be built, and it must say so quickly.

Usage: ci/run python ci/bench/supply.py [--rounds N]
Exit code: 0 within the bound, 1 above it, 2 when the cache is not warm (run `make supply` first).
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

BOUND = 10.0  # CPU seconds: what it takes on a machine with nothing else to do, and the same on a loaded one
MODULE = "ansible_collections.groundup.cloud.plugins.plugin_utils.supply"


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    from ansible_collections.groundup.cloud.plugins.plugin_utils import supply

    if lacking := supply.missing(None):
        print(f"supply: the cache lacks {len(lacking)} artifacts: {', '.join(lacking)}")
        return 2
    wall, cpu = min(_run() for _ in range(arguments.rounds))
    number = len(supply.load_lock().select(None))
    print(f"supply, warm run of {number} artifacts: {wall:.2f} s, {cpu:.2f} CPU-s (at most {BOUND:.0f})")
    return 0 if cpu <= BOUND else 1


def _run() -> tuple[float, float]:
    """Return wall and CPU seconds of one run of the command line."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([sys.executable, "-m", MODULE, "build"], check=True, capture_output=True, text=True)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if "nothing to build" not in done.stdout:
        raise SystemExit(f"a warm run built something:\n{done.stdout}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
