"""What the Kubernetes layer costs: a first run on fresh lab hosts, an unchanged re-run, one more worker.

Usage: ci/run python ci/bench/cluster.py [--name SITE] [--cidr CIDR] [--json FILE] [--keep]

Makes a lab of its own (seed, one control host, two workers; then a third), which needs root and the artifacts in the
cache, and destroys it at the end. Only the playbook `kubernetes` is measured. Counts and CPU decide; wall time is
judged only when nothing else keeps the machine busy. Exit code 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

SITE = """\
plugin: groundup.cloud.site
site: {name}
domain: {name}.test
profile: lab
networks:
  management: {{cidr: {cidr}}}
machines:
  seed: {{count: 1, rack: r1}}
  control: {{count: 1, rack: r1}}
  worker: {{count: {workers}, rack: r1}}
kubernetes: {{version: 1.36.3, cni: flannel}}
storage: {{backend: none}}
openstack:
  release: "2026.1"
  services: [keystone]
  charts: builtin
supply: {{source: build}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The most a run may cost, and what Kubespray cost with the same programs on three such hosts."""

    wall: float  # seconds
    cpu: float | None  # controller CPU seconds
    tasks: int  # on one host
    changed: int | None
    kubespray: str


TARGETS = {
    "first run": Target(wall=90, cpu=45, tasks=40, changed=None, kubespray="about 600 s, 445 CPU-s"),
    "unchanged": Target(wall=20, cpu=15, tasks=15, changed=0, kubespray="720 s, 482 CPU-s, 22 changed"),
    "one more worker": Target(
        wall=40, cpu=None, tasks=40, changed=None, kubespray="as many tasks on each old host as on the new one"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What one run of the playbook cost."""

    name: str
    wall: float  # seconds
    cpu: float  # CPU seconds of the controller: ansible-playbook and all its children
    tasks: dict[str, int]  # by host, validation and skipped ones included
    changed: int
    load: float  # machine load at the start


def play(site: Path, *arguments: str, environment: dict[str, str] | None = None) -> float:
    """Run ansible-playbook and return the CPU seconds it and its children took. Exits when it fails."""
    command = ["ansible-playbook", "-i", str(site), *arguments]
    log = site.with_name("bench.log")
    with log.open("ab") as stream:
        process = subprocess.Popen(
            command, stdout=stream, stderr=subprocess.STDOUT, env=os.environ | (environment or {})
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.stderr.write(log.read_text(encoding="utf-8", errors="replace")[-6000:])
        sys.exit(f"failed: {' '.join(command)}")
    return usage.ru_utime + usage.ru_stime


def measure(name: str, site: Path, *arguments: str) -> Measurement:
    """Run the playbook kubernetes and measure it."""
    figures = site.with_name("timeline.json")
    load, started = os.getloadavg()[0], time.monotonic()
    cpu = play(site, "groundup.cloud.kubernetes", *arguments, environment={"GROUNDUP_TIMELINE": str(figures)})
    wall = time.monotonic() - started
    plays = json.loads(figures.read_text(encoding="utf-8"))["plays"]
    tasks: Counter[str] = Counter()
    changed = 0
    for one in plays:
        tasks.update(one["tasks"])
        changed += sum(one["changed"].values())
    return Measurement(name=name, wall=wall, cpu=cpu, tasks=dict(tasks), changed=changed, load=load)


def misses(found: Measurement, target: Target, *, judge_wall: bool, new: str | None = None) -> list[str]:
    """Return the targets that ``found`` missed, in words. ``new`` is the only worker that may have been touched."""
    missed = []
    most = max(found.tasks.values())
    if most > target.tasks:
        missed.append(f"{most} tasks on a host, at most {target.tasks}")
    if target.cpu is not None and found.cpu > target.cpu:
        missed.append(f"{found.cpu:.1f} controller CPU-s, at most {target.cpu:.0f}")
    if target.changed is not None and found.changed > target.changed:
        missed.append(f"{found.changed} changed, at most {target.changed}")
    if judge_wall and found.wall > target.wall:
        missed.append(f"{found.wall:.0f} s, at most {target.wall:.0f}")
    touched = [host for host in found.tasks if host.startswith("worker-") and host != new]
    if new and touched:
        missed.append(f"tasks ran on {', '.join(touched)}")
    return [f"{found.name}: {what}" for what in missed]


def table(found: Sequence[Measurement]) -> str:
    """Return the measurements beside the targets."""
    lines = [f"{'':<16} {'wall s':>14} {'controller CPU-s':>17} {'tasks/host':>11} {'changed':>8}  Kubespray"]
    for one in found:
        target = TARGETS[one.name]
        cpu = f"{one.cpu:.1f} / {target.cpu:.0f}" if target.cpu is not None else f"{one.cpu:.1f}"
        changed = f"{one.changed} / {target.changed}" if target.changed is not None else str(one.changed)
        lines.append(
            f"{one.name:<16} {f'{one.wall:.1f} / {target.wall:.0f}':>14} {cpu:>17} "
            f"{f'{max(one.tasks.values())} / {target.tasks}':>11} {changed:>8}  {target.kubespray}"
        )
    hosts = [
        f"  {one.name}: " + ", ".join(f"{host} {count}" for host, count in sorted(one.tasks.items())) for one in found
    ]
    return "\n".join(
        [*lines, "measured / target; load at the start of each: " + ", ".join(f"{o.load:.1f}" for o in found), *hosts]
    )


def main() -> int:
    """Run the benchmark and return its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--name", default="bench-kubernetes", help="name of the site that is made")
    parser.add_argument("--cidr", default="10.99.0.0/24", help="its management network")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--keep", action="store_true", help="leave the lab running")
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="groundup-bench-"))
    site = directory / "site.yml"
    found: list[Measurement] = []

    def write(workers: int) -> None:
        site.write_text(SITE.format(name=options.name, cidr=options.cidr, workers=workers), encoding="utf-8")

    write(2)
    try:
        print(f"[bench] hosts and seed; log in {directory}/bench.log", flush=True)
        play(site, "groundup.cloud.metal", "groundup.cloud.host", "groundup.cloud.seed")
        for name in ("first run", "unchanged"):
            print(f"[bench] {name}", flush=True)
            found.append(measure(name, site))
        write(3)
        print("[bench] one more worker", flush=True)
        play(site, "groundup.cloud.metal", "groundup.cloud.host")
        found.append(measure("one more worker", site, "--limit", "worker-3"))
    finally:
        if not options.keep:
            play(site, "groundup.cloud.lab_destroy")
    print(table(found))
    if options.json:
        report = {"runs": [asdict(one) for one in found], "targets": {k: asdict(v) for k, v in TARGETS.items()}}
        options.json.write_text(json.dumps(report, indent=1), encoding="utf-8")
    quiet = all(one.load < (os.cpu_count() or 1) for one in found)
    missed = [
        text
        for one in found
        for text in misses(
            one,
            TARGETS[one.name],
            judge_wall=quiet,
            new="worker-3" if one.name == "one more worker" else None,
        )
    ]
    for text in missed:
        print(f"missed: {text}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
