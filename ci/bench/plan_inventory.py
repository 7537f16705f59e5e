#!/usr/bin/env python3
"""What a site of 10,000 hosts costs to expand and list, against a script that prints the same hosts as ready JSON.

Both go through `ansible-inventory --list --export` in the same run, in turn, and the least CPU time of each counts.
With `--export` a variable of all hosts is listed once; without it most of the time would be Ansible repeating it 10,000
times, for both alike, and the ratio would flatter. The promise is a ratio of at most 1.5.

Usage: ci/run python ci/bench/plan_inventory.py [--hosts N] [--rounds N]
Exit code: 0 within the bound, 1 above it, 2 when the two listings differ.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

BOUND = 1.5
PER_RACK = 40
SITE = """\
plugin: groundup.cloud.site
site: bench
domain: bench.test
profile: region
networks:
  management: {{cidr: 10.0.0.0/15}}
  storage: {{cidr: 10.2.0.0/15}}
  tunnel: {{cidr: 10.4.0.0/15, mtu: 9000}}
  provider: {{cidr: 198.51.100.0/24}}
racks: {{{racks}}}
machines:
  seed: {{count: 1, rack: r1}}
  control: {{count: 3, racks: [r1, r2, r3]}}
  hypervisor: {{per_rack: {per_rack}}}
supply: {{source: upstream}}
storage: {{backend: external}}
"""


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        site = Path(scratch) / "site.yml"
        racks = ", ".join(f"r{number}: {{}}" for number in range(1, arguments.hosts // PER_RACK + 1))
        site.write_text(SITE.format(racks=racks, per_rack=PER_RACK))
        cost, listed = _list(site)
        script = _script(Path(scratch), listed)
        script_cost, listed_by_script = _list(script)
        if listed_by_script != listed:
            print("the two inventories do not list the same hosts and variables")
            return 2
        ours, theirs = [cost], [script_cost]
        for _round in range(arguments.rounds - 1):
            theirs.append(_list(script)[0])
            ours.append(_list(site)[0])
    ratio = min(ours) / min(theirs)
    print(f"hosts listed            {len(listed['_meta']['hostvars']):>8}")
    print(f"script of ready JSON    {min(theirs):>8.2f} CPU-s")
    print(f"site file               {min(ours):>8.2f} CPU-s")
    print(f"ratio                   {ratio:>8.2f}  (at most {BOUND})")
    return 0 if ratio <= BOUND else 1


def _list(source: Path) -> tuple[float, dict[str, Any]]:
    """Return the CPU seconds of listing ``source``, children included, and what was listed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        ["ansible-inventory", "-i", str(source), "--list", "--export"],
        check=True,
        capture_output=True,
        env={**os.environ, "ANSIBLE_INVENTORY_ENABLED": "groundup.cloud.site,ansible.builtin.script"},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    listed: dict[str, Any] = json.loads(done.stdout)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, listed


def _script(directory: Path, listed: dict[str, Any]) -> Path:
    """Write a script inventory that prints ``listed``."""
    data = directory / "ready.json"
    data.write_text(json.dumps(listed))
    script = directory / "ready"
    script.write_text(f"#!/bin/sh\nexec cat {data}\n")
    script.chmod(0o755)
    return script


if __name__ == "__main__":
    sys.exit(main())
