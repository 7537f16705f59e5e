"""What the cloud cost, by the records of the runs that made it: rollout, hypervisors, the unchanged run, memory.

Usage: [SITE=path/to/site.yml] ci/run python ci/bench/cloud.py [--wall]

Runs nothing: `ci/lab up` of a lab that was not there, then `ci/lab unchanged`, leave the records, and the lab stands.
Counts, ratios and CPU decide; seconds decide with --wall, on a machine that does nothing else. Exit code: 0 within the
bounds, 1 above one, 2 without a record.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.groundup.cloud.ci import memory
from ansible_collections.groundup.cloud.ci.bench.speed import allowance
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.graph import Graph
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.session import TIMES

ROOT = Path(__file__).resolve().parents[2]
SITE = os.environ.get("SITE", "inventories/cloud/site.yml")
Timeline = Mapping[str, Any]  # what the callback groundup.cloud.timeline writes


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured value beside its bound."""

    what: str
    measured: float
    most: float
    decides: bool = True

    @property
    def missed(self) -> bool:
        """Return whether it is above a bound that decides."""
        return self.decides and self.measured > self.most

    def __str__(self) -> str:
        verdict = "MISSED" if self.missed else "" if self.decides else "not judged"
        return f"{self.what:<58} {self.measured:8.2f} {self.most:8.2f}  {verdict}".rstrip()


def plays(playbook: str) -> set[str]:
    """Return the names of a playbook's own plays."""
    content = yaml.safe_load((ROOT / "playbooks" / f"{playbook}.yml").read_text(encoding="utf-8"))
    return {play["name"] for play in content if "hosts" in play}


def cost(record: Timeline, playbook: str) -> tuple[Counter[str], float, float, int]:
    """Return what a playbook's plays cost in a run: tasks by host, CPU seconds, seconds, changes."""
    found = [play for play in record["plays"] if play["name"] in plays(playbook)]
    tasks: Counter[str] = Counter()
    for play in found:
        tasks.update(play["tasks"])
    changed = sum(sum(play["changed"].values()) for play in found)
    return tasks, sum(play["cpu_seconds"] for play in found), sum(play["seconds"] for play in found), changed


def chain(plan: Plan, seconds: Mapping[str, float]) -> tuple[tuple[str, ...], float]:
    """Return the releases that cannot go beside each other and take longest, and their seconds."""
    needs = [(release.name, release.needs) for release in plan.openstack.releases]
    longest = Graph(needs, cost=seconds, kind="release", where="openstack.services").longest()
    return longest, sum(seconds[name] for name in longest)


def hypervisors(plan: Plan, record: Timeline, run: str, *, tasks: int, cpu: float) -> list[Figure]:
    """Return what the hypervisors' layer cost a host in one run."""
    hosts = [name for name, host in plan.hosts.items() if "hypervisor" in host.roles]
    counted, used, _, _ = cost(record, "hypervisor")
    return [
        Figure(what=f"hypervisors, {run}: tasks a host", measured=max(counted[name] for name in hosts), most=tasks),
        # Of two hosts it is mostly the plays' own: what one more costs decides (ci/bench/hypervisor.py).
        Figure(
            what=f"hypervisors, {run}: controller CPU-s a host", measured=used / len(hosts), most=cpu, decides=False
        ),
    ]


def figures(
    plan: Plan, first: Timeline, again: Timeline, seconds: Mapping[str, float], *, slower: float, wall: bool
) -> list[Figure]:
    """Return every figure of two runs. ``seconds``: of each release; ``slower``: factor of bounds of CPU."""
    longest, least = chain(plan, seconds)
    changed = sum(sum(play["changed"].values()) for play in again["plays"])
    rollout = cost(first, "openstack")[2]
    return [
        Figure(what=f"rollout / {' + '.join(longest)}", measured=rollout / least, most=1.15),
        *hypervisors(plan, first, "first", tasks=12, cpu=1.0 * slower),
        *hypervisors(plan, again, "unchanged", tasks=6, cpu=0.4 * slower),
        Figure(what="unchanged run: changed", measured=changed, most=0),
        Figure(what="unchanged run: controller CPU-s", measured=again["cpu_seconds"], most=25 * slower),
        Figure(what="unchanged run: seconds", measured=again["seconds"], most=40, decides=wall),
        Figure(what="first run, to the instance: seconds", measured=first["seconds"], most=720, decides=wall),
    ]


def report(found: Iterable[Figure]) -> int:
    """Print figures beside their bounds; return the exit code."""
    listed = list(found)
    print("\n".join([f"{'':<58} {'measured':>8} {'at most':>8}", *map(str, listed)]))
    return 1 if any(one.missed for one in listed) else 0


def main() -> int:
    """Read, print, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--wall", action="store_true", help="seconds decide, too")
    arguments = parser.parse_args()
    plan = site_plan(ROOT / SITE)
    try:
        first, again = (_record(run) for run in ("up", "unchanged"))
        slower = allowance(_place("speed"))
        seconds = json.loads((state_dir(plan.site) / TIMES).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        print(f"no record {error.filename}: SITE={SITE} ci/lab up, then unchanged", file=sys.stderr)
        return 2
    if not cost(first, "hypervisor")[3]:
        print(f"the last `ci/lab up` found a lab: SITE={SITE} ci/lab destroy, then up, unchanged", file=sys.stderr)
        return 2
    used, of_group = memory.look(str(ROOT / SITE))
    found = figures(plan, first, again, seconds, slower=slower, wall=arguments.wall)
    found.append(
        Figure(what="memory of the whole lab: GiB", measured=memory.total(used, of_group) / (1 << 30), most=16)
    )
    print(f"{memory.table(used, of_group)}\n")
    return report(found)


def _record(run: str) -> Timeline:
    return dict(json.loads(_place(f"{run}.json").read_text(encoding="utf-8")))


def _place(name: str) -> Path:
    return ROOT / ".run/figures" / f"{SITE.replace('/', '-')}.{name}"


if __name__ == "__main__":
    sys.exit(main())
