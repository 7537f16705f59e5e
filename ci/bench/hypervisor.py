"""What more hypervisors cost a cloud that stands, each, and that nothing runs on the others meanwhile.

Usage: [SITE=path/to/site.yml] ci/run python ci/bench/hypervisor.py

Adds three hosts to the lab of `ci/lab up` that the site file does not have: destroy the lab afterwards. Only the layer
`hypervisor` is measured. What its plays cost by themselves is in every run: a host's own part is the difference between
runs with more hosts and with one. Exit code: 0 within the bounds, 1 above one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.groundup.cloud.ci.bench.cloud import ROOT, SITE, Figure, cost, report
from ansible_collections.groundup.cloud.ci.bench.speed import allowance
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan

MORE = 3


def enlarged(site_file: Path, target: Path) -> list[str]:
    """Write the site file with more hypervisors; return the new hosts' names."""
    content = yaml.safe_load(site_file.read_text(encoding="utf-8"))
    content["machines"]["hypervisor"]["count"] += MORE
    target.write_text(yaml.safe_dump(content), encoding="utf-8")
    return sorted(site_plan(target).hosts.keys() - site_plan(site_file).hosts.keys())


def play(site: Path, *arguments: str) -> dict[str, Any]:
    """Run playbooks; return what the callback timeline wrote. Exits when they fail."""
    record = site.with_name("timeline.json")
    command = ["ansible-playbook", "-i", str(site), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"GROUNDUP_TIMELINE": str(record)}
    )
    if done.returncode:
        sys.exit(f"failed: {' '.join(command)}\n{(done.stdout + done.stderr)[-6000:]}")
    return dict(json.loads(record.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the layer, for some of the new hosts."""

    hosts: list[str]
    record: dict[str, Any]

    @property
    def cpu(self) -> float:
        """Return the controller's CPU seconds."""
        return cost(self.record, "hypervisor")[1]


def figures(one: Run, more: Run, what: str, *, tasks: int, cpu: float) -> list[Figure]:
    """Return what a host costs, by a run for one host and one for several."""
    counted = [cost(run.record, "hypervisor")[0] for run in (one, more)]
    named = {*one.hosts, *more.hosts}
    others = sum(
        count
        for run in (one, more)
        for play in run.record["plays"]
        for host, count in play["tasks"].items()
        if host not in (*run.hosts, "localhost")
    )
    each = (more.cpu - one.cpu) / (len(more.hosts) - len(one.hosts))
    most = max(count for run in counted for host, count in run.items() if host in named)
    return [
        Figure(what=f"{what}: tasks a host", measured=most, most=tasks),
        Figure(what=f"{what}: controller CPU-s a host", measured=each, most=cpu),
        Figure(what=f"{what}: controller CPU-s of a run for one", measured=one.cpu, most=cpu, decides=False),
        Figure(what=f"{what}: tasks on all other hosts", measured=others, most=0),
    ]


def main() -> int:
    """Add hypervisors, measure, print, judge."""
    with tempfile.TemporaryDirectory(prefix="groundup-bench-") as scratch:
        site = Path(scratch) / "site.yml"
        new = enlarged(ROOT / SITE, site)
        play(site, "groundup.cloud.metal", "groundup.cloud.host")

        def run(hosts: list[str]) -> Run:
            limit = ",".join(("localhost", *hosts))
            return Run(hosts, play(site, "groundup.cloud.hypervisor", "--limit", limit))

        first = run(new[:1]), run(new[1:])
        again = run(new[:1]), run(new)
    slower = allowance()
    return report(
        [
            *figures(*first, "new", tasks=12, cpu=1.0 * slower),
            *figures(*again, "unchanged", tasks=6, cpu=0.4 * slower),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
