#!/usr/bin/env python3
"""What many machines from power-off cost: our queue and ways, the real Ironic, nodes and agents without machines.

Ironic runs as on a seed (SQLite, TLS by the web server) on a loopback of its own, and is killed meanwhile. Promises: no
machine is lost, ours is at most a tenth of Ironic's CPU, never more machines are under way than the queue admits.
Ours is the controller's process, and on the seed who hears machines call home and the page of machines.

Usage: ci/run python ci/bench/machines.py [--machines N] [--kills K] [--at-once N]       as root
Exit code: 0 within the bounds, 1 above one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import configuration
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import install
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal, file_of, home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.page import page_of, shown
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot
from ansible_collections.groundup.cloud.tests.integration.metal.fake_site import fake_site, without_machines

SHARE = 0.10  # of Ironic's CPU: the most that is ours
TICK = os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--machines", type=int, default=100)
    parser.add_argument("--at-once", type=int, default=50)
    parser.add_argument("--kills", type=int, default=3, help="how often Ironic is killed meanwhile")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        return _control(given.inside, at_once=given.at_once)
    with tempfile.TemporaryDirectory(prefix="groundup-bench-") as scratch:
        return _measure(Path(scratch), given)


def _measure(room: Path, given: argparse.Namespace) -> int:
    with fake_site(room, given.machines) as (host, plan):
        gauge = Gauge(host)
        argv = [sys.executable, __file__, "--inside", str(room), "--at-once", str(given.at_once)]
        began = time.monotonic()
        with (room / "said").open("w") as said:
            process = subprocess.Popen(host.argv(*argv, outside=True), stdout=said, stderr=subprocess.STDOUT)
        try:
            killed = _kill(gauge, plan, process, given.kills)
            status = process.wait()
        finally:
            process.kill()
        wall = time.monotonic() - began
        gauge.look()
        if status:
            print((room / "said").read_text()[-3000:], host.at("/tmp/env.log").read_text()[-3000:])  # noqa: S108  # of the seed
            return 1
        found = json.loads((room / "found.json").read_text())
    return _judge(given, found, gauge, wall=wall, killed=killed)


def _judge(given: argparse.Namespace, found: dict[str, Any], gauge: Gauge, *, wall: float, killed: int) -> int:
    ours, theirs, count = found["cpu"] + gauge.ours, gauge.cpu, given.machines
    print(f"machines                {count:>8}  at most {given.at_once} under way; Ironic killed {killed} times")
    print(
        f"installed               {found['serving']:>8}  in {wall:.0f} s: {found['serving'] / wall * 60:.0f} a minute"
    )
    print(f"failed                  {len(found['failed']):>8}  {found['failed'] or ''}")
    print(f"installed anew         {found['anew']:>8}  whose ramdisk fell silent")
    print(f"most under way          {found['most']:>8}")
    print(f"longest wait            {found['longest']:>8.0f} s in the queue")
    print(f"Ironic                  {theirs:>8.1f} CPU-s, {theirs / count:.2f} a machine; {gauge.memory} MiB at most")
    parts = ", ".join(f"{name} {seconds:.1f}" for name, seconds in gauge.parts().items())
    print(f"of ours                 {found['cpu']:>8.1f} CPU-s by the controller; on the seed: {parts}")
    print(f"ours                    {ours:>8.1f} CPU-s, {ours / theirs:.1%} of Ironic's  (at most {SHARE:.0%})")
    good = found["serving"] == count and ours <= SHARE * theirs and found["most"] <= given.at_once
    return 0 if good and killed == given.kills else 1


class Gauge:
    """CPU and memory of Ironic, over its processes."""

    def __init__(self, host: HostRoot) -> None:
        """Take the host that it runs on."""
        self._host, self._seen, self._own = host, dict[int, float](), dict[tuple[str, int], float]()
        self.memory = 0

    @property
    def cpu(self) -> float:
        """Return the CPU seconds of all its processes so far."""
        return sum(self._seen.values())

    @property
    def ours(self) -> float:
        """Return the CPU seconds of our own programs there so far."""
        return sum(self._own.values())

    def parts(self) -> dict[str, float]:
        """Return the same by program."""
        return {name: sum(used for (one, _), used in self._own.items() if one == name) for name, _ in self._own}

    def pids(self) -> list[int]:
        """Return its processes, as this machine numbers them: a master and those that work; note what ours use."""
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                same = (place / "ns/pid").readlink() == Path(f"/proc/{self._host._pid}/ns/pid").readlink()
                words = (place / "cmdline").read_bytes()
                if same and (own := re.search(rb"/(groundup-[a-z]+)\0", words)):
                    self._own[own[1].decode(), int(place.name)] = _used(int(place.name))
                if same and (words.startswith(b"ironic:") or str(configuration.CONF).encode() in words):
                    found.append(int(place.name))
        return found

    def look(self) -> list[int]:
        """Note what it has used; return its processes."""
        memory, pids = 0, self.pids()
        for pid in pids:
            with suppress(OSError):
                self._seen[pid] = _used(pid)
                words = Path(f"/proc/{pid}/statm").read_text().split()
                memory += int(words[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20
        self.memory = max(self.memory, memory)
        return pids


def _used(pid: int) -> float:
    """Return the CPU seconds of a process and of its children that ended: media it makes. Raises OSError."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICK


def _kill(gauge: Gauge, plan: Plan, process: subprocess.Popen[bytes], kills: int) -> int:
    """Kill Ironic each time another part of the machines is installed; return how often."""
    total, killed = sum(host.provisioner == "ironic" for host in plan.hosts.values()), 0
    while process.poll() is None:
        pids = gauge.look()
        called = len(list((gauge._host.at(configuration.STATE) / "machines").glob("*.json")))
        if killed < kills and pids and called >= total * (killed + 1) / (kills + 2):
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            killed += 1
            _again(gauge._host)
        time.sleep(0.5)
    return killed


def _again(host: HostRoot) -> None:
    home = configuration.PROGRAMS / "current"
    path = f"PATH={configuration.PROGRAMS}/bin:{home}/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    host.start("env", path, *configuration.BOUNDED, str(home / "bin/ironic"), "--config-file", str(configuration.CONF))


def _control(room: Path, *, at_once: int) -> int:
    """Do what the controller does, in the seed's network."""
    plan = make_plan(load_site(room / "site.yml"))
    plan = without_machines(plan)
    names = [name for name, host in plan.hosts.items() if host.provisioner == "ironic"]
    before, began = resource.getrusage(resource.RUSAGE_SELF), time.time()
    options = install.InstallOptions(at_once=at_once, timeout=900)
    page = page_of(plan)
    with shown(plan, page, print):
        failed = install.install(Changes(check=False), plan, names, print, options, page=page)
    after = resource.getrusage(resource.RUSAGE_SELF)
    journals = {name: Journal(path) for name in names if (path := file_of(home_of(plan.site), name)).exists()}
    ways = {name: journal.lines() for name, journal in journals.items()}
    ends = [
        (line["time"], 1 if number == 0 else -1)
        for lines in ways.values()
        for number, line in ((0, lines[0]), (1, lines[-1]))
        if "time" in line
    ]
    under_way = most = 0
    for _, change in sorted(ends, key=lambda end: (end[0], end[1])):
        under_way += change
        most = max(most, under_way)
    found = {
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "serving": sum(lines[-1].get("state") == "installed" for lines in ways.values()),
        "anew": sum("fell silent" in line.get("doing", "") for lines in ways.values() for line in lines),
        "failed": {name: error.what for name, error in failed.items()},
        "longest": max(lines[0]["time"] - began for lines in ways.values() if "time" in lines[0]),
        "most": most,
    }
    (room / "found.json").write_text(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
