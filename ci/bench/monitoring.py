#!/usr/bin/env python3
"""What a site of 1,000 hosts costs monitoring: its files, the memory and time of the store, and of judging rules.

One process answers for all targets, on a loopback of its own. VictoriaMetrics, vmalert and Alertmanager run with their
units' own arguments; there is no systemd, so half of a unit's bound of memory is said to the store as it finds it.
Promises: files in 5 CPU-s, every target answers, the store keeps within its bound, a group is judged in its interval.

Usage: ci/run python ci/bench/monitoring.py [--hosts N] [--minutes M]       as root; `ci/supply build monitoring` before
Exit code: 0 within the bounds, 1 above one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.ci.bench.speed import allowance
from ansible_collections.groundup.cloud.plugins.module_utils._host import watched
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.central import ALL, HOME, unit_texts
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.dashboards import dashboards_of, grafana_files
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.files import files
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.jobs import JOBS
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.rules import alerts_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root
from ansible_collections.groundup.cloud.tests.integration.monitoring.watched import command
from ansible_collections.groundup.cloud.tests.unit.certificates import issue

BOUND = 5.0  # CPU seconds of plan and files, see speed.py
PATIENCE = 1800.0  # seconds until all targets have answered
PER_RACK, STORAGE = 40, 36  # hypervisors of a rack; hosts of storage
TICK = os.sysconf("SC_CLK_TCK")
TARGETS = Path(__file__).with_name("monitoring_targets.py")
SITE = """\
plugin: groundup.cloud.site
site: bench
domain: bench.test
profile: region
networks:
  management: {{cidr: 10.0.0.0/16}}
  storage: {{cidr: 10.1.0.0/16}}
  tunnel: {{cidr: 10.2.0.0/16, mtu: 9000}}
  provider: {{cidr: 198.51.100.0/24, gateway: 198.51.100.1, pool: 198.51.100.100-198.51.100.199}}
racks: {{c1: {{}}, c2: {{}}, c3: {{}}, {racks}}}
hardware:
  osds:
    cores: 32
    memory_gb: 256
    nic_gbps: 25
    nvme: true
    osds: [{osds}]
machines:
  seed: {{count: 1, rack: c1}}
  control: {{count: 3, racks: [c1, c2, c3]}}
  storage: {{count: {storage}, racks: [c1, c2, c3], hardware: osds}}
  hypervisor: {{per_rack: {per_rack}, racks: [{names}]}}
kubernetes: {{version: 1.36.3, cni: flannel}}
storage: {{backend: native, replicas: 3, failure_domain: rack}}
openstack:
  release: "2026.1"
  services: [keystone, placement, glance, neutron, nova, cinder, heat, horizon]
  charts: builtin
supply: {{source: build}}
backups: {{schedule: daily, logs_every: 5}}
monitoring:
  enabled: true
  webhook: http://127.0.0.1:9999/nobody
  drift: daily
  capacity: {{}}
  interval: {interval}
"""


@dataclass
class Used:
    """CPU seconds and memory of one program so far."""

    cpu: float
    memory: int  # MiB, the most of it


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--interval", type=int, default=15, help="seconds between two scrapes; more on a busy machine")
    parser.add_argument("--minutes", type=float, default=5, help="measured, after as long as all targets need")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="groundup-bench-") as scratch:
        room = Path(scratch)
        plan, wanted, cpu = _planned(room, hosts=arguments.hosts, interval=arguments.interval)
        bound = BOUND * allowance()
        print(f"hosts                   {len(plan.hosts):>8}")
        print(f"plan and files          {cpu:>8.2f} CPU-s  (at most {bound:.2f}), {_size(wanted):.0f} KiB")
        rules = [
            one for path, text in wanted.items() if path.startswith("rules/") for one in re.findall("alert:", text)
        ]
        queries = [query for _, _, panels in dashboards_of(plan) for _, query, _ in panels]
        print(f"rules                   {len(rules):>8}")
        dashboards = sum(path.startswith("vmui/") for path in wanted)
        print(f"panels                  {len(queries):>8}  in {dashboards} dashboards")
        with host_root(room / "host", "10.0.0.1/16") as host:
            _lay_out(host, plan, wanted)
            listening = _listen(host, plan, room)
            try:
                good = Site(host, plan).measured(minutes=arguments.minutes, queries=queries)
            finally:
                listening.kill()
                listening.wait()
    return 0 if good and cpu <= bound else 1


def _planned(room: Path, *, hosts: int, interval: int) -> tuple[Plan, dict[str, str], float]:
    """Return the plan of about ``hosts`` hosts, monitoring's files, and the CPU seconds of both."""
    names = [f"r{number}" for number in range(1, max((hosts - STORAGE - 4) // PER_RACK, 1) + 1)]
    disks = [f"{{device: /dev/disk/by-path/pci-0000:{number}:00.0-nvme-1}}" for number in range(60, 72)]
    site = room / "site.yml"
    site.write_text(
        SITE.format(racks=", ".join(f"{name}: {{}}" for name in names), names=", ".join(names), storage=STORAGE,
                    osds=", ".join(disks), per_rack=PER_RACK, interval=interval), encoding="utf-8")  # fmt: skip
    began = time.process_time()
    plan = make_plan(load_site(site))
    wanted = files(plan)
    grafana_files(plan)
    return plan, wanted, time.process_time() - began


def _size(wanted: dict[str, str]) -> float:
    return sum(map(len, wanted.values())) / 1024


def _lay_out(host: HostRoot, plan: Plan, wanted: dict[str, str]) -> None:
    """Write the plan's files, credentials and programs, and start those of the monitoring host."""
    authority = issue("monitoring", ca=True)
    client = issue("client", authority, client=True)
    server = issue("server", authority, names=[one.address for one in plan.hosts.values()])
    texts = wanted | {
        "tls/monitoring-ca.crt": authority.pem, "tls/monitoring.crt": client.pem, "tls/monitoring.key": client.key,
        "tls/kubernetes-ca.crt": authority.pem, "tls/kubernetes.token": "of groundup-monitoring\n",
        "tls/server.pem": server.pem + server.key,
    }  # fmt: skip
    for path, text in texts.items():
        host.at(HOME / path).parent.mkdir(parents=True, exist_ok=True)
        host.at(HOME / path).write_text(text)
    host.at(watched.PROGRAMS).mkdir(parents=True)
    built = supply.ensure("victoria-metrics")["victoria-metrics"]
    for name in ("victoria-metrics", "vmalert"):
        shutil.copy(built.path / name, host.at(watched.PROGRAMS))
    debian = supply.unpacked("root-monitoring")
    shutil.copy(debian / "usr/bin/prometheus-alertmanager", host.at("usr/bin"))
    shutil.copytree(debian / "usr/share/prometheus", host.at("usr/share/prometheus"), dirs_exist_ok=True)


def _listen(host: HostRoot, plan: Plan, room: Path) -> subprocess.Popen[bytes]:
    """Start what answers for all targets but those on loopback."""
    tls = host.at(HOME / "tls")
    given = {
        "roles": {one.address: " ".join(sorted(one.roles)) for one in plan.hosts.values()},
        "hypervisors": [one.name for one in plan.hosts.values() if "hypervisor" in one.roles],
        "osds": STORAGE * 12, "interval": _interval(plan),
        "jobs": {job.number(plan): name for name, job in JOBS.items() if not job.loopback and name != "etcd"},
        "certificate": str(tls / "server.pem"), "ca": str(tls / "monitoring-ca.crt"),
    }  # fmt: skip
    (room / "given.json").write_text(json.dumps(given), encoding="utf-8")
    argv = [sys.executable, str(TARGETS), str(room / "given.json")]
    return subprocess.Popen(host.argv(*argv, outside=True))


def _interval(plan: Plan) -> int:
    return plan.monitoring.interval if plan.monitoring else 0


class Site:
    """The programs of the monitoring host."""

    def __init__(self, host: HostRoot, plan: Plan) -> None:
        """Start them."""
        self._host, self._plan = host, plan
        self._interval, self._wanted = _interval(plan), sum(len(job.hosts(plan)) for job in JOBS.values())
        texts = unit_texts(days=30, hosts=len(plan.hosts))
        self._bounds = {unit: int(re.findall(r"MemoryMax=(\d+)M", text)[0]) for unit, text in texts.items()}
        self._programs = {Path(command(texts[one.unit])[0]).name: one.unit for one in ALL}
        for one in ALL:
            half = f"-memory.allowedBytes={self._bounds[one.unit] // 2}MiB"
            host.start(*(half if word.startswith("-memory.") else word for word in command(texts[one.unit])))

    def measured(self, *, minutes: float, queries: list[str]) -> bool:
        """Measure for so long and print; say whether all is within its bounds."""
        up = self._up()
        print(f"targets                 {self._wanted:>8}  {up} answer")
        before, judged, scraped = self._used(), self._judged(), self._scrapes()
        time.sleep(60 * minutes)
        after, rounds = self._used(), max(self._scrapes() - scraped, 1) / self._wanted
        told, kept = (self._number(f"sum(scrape_samples_{name})") for name in ("scraped", "post_metric_relabeling"))
        print(f"series                  {kept:>8.0f}  kept of {told:.0f}; {kept / len(self._plan.hosts):.0f} a host")
        good = up == self._wanted == self._answering()
        for name, used in after.items():
            bound = self._bounds[self._programs[name]]
            good = good and used.memory <= bound
            spent = (used.cpu - before[name].cpu) / rounds
            print(f"{name:<24}{used.memory:>8} MiB of {bound}; {spent:.2f} CPU-s a round")
        good = self._print_rules(judged) and good
        self._print_queries(queries)
        firing = self._asked('count by (alertname) (ALERTS{alertstate="firing"})')
        print(f"firing                  {', '.join(sorted(one['metric']['alertname'] for one in firing))}")
        return good

    def _up(self) -> int:
        """Wait until all targets have answered, or no more do; return how many."""
        seen, end = 0, time.monotonic() + PATIENCE
        while seen < self._wanted and time.monotonic() < end:
            time.sleep(5)
            seen = self._answering()
        return seen

    def _answering(self) -> int:
        active = self._get("targets", state="active").get("data", {}).get("activeTargets", [])
        return sum(one["health"] == "up" for one in active)

    def _scrapes(self) -> float:
        said = self._host.run("curl", "-s", "--max-time", "60", "http://127.0.0.1:8428/metrics").stdout
        return sum(map(float, re.findall(r"^vm_promscrape_scrapes_total (\S+)$", said, re.M)))

    def _used(self) -> dict[str, Used]:
        """Return what each program has used."""
        found = {}
        own = Path(f"/proc/{self._host.pid}/ns/pid").readlink()
        for place in Path("/proc").glob("[0-9]*"):
            try:
                name = (place / "exe").readlink().name
                if name in self._programs and (place / "ns/pid").readlink() == own:
                    spent = (place / "stat").read_text().rpartition(")")[2].split()
                    memory = re.search(r"VmHWM:\s+(\d+)", (place / "status").read_text())
                    found[name] = Used(
                        (int(spent[11]) + int(spent[12])) / TICK, int(memory[1]) // 1024 if memory else 0
                    )
            except OSError:  # it ended, or is no program
                continue
        return found

    def _judged(self) -> dict[str, dict[str, float]]:
        """Return number, seconds, left out and failed evaluations of each group of rules so far."""
        said = self._host.run("curl", "-sf", "--max-time", "30", "http://127.0.0.1:8880/metrics").stdout
        names = "iteration_duration_seconds_sum|iteration_total|iteration_missed_total"
        found: dict[str, dict[str, float]] = {}
        for name, group, value in re.findall(rf'^vmalert_({names})\{{.*?group="([^"]+)".*\}} (\S+)$', said, re.M):
            found.setdefault(group, {})[name] = float(value)
        return found

    def _print_rules(self, before: dict[str, dict[str, float]]) -> bool:
        """Print how long groups take; say whether each is judged within its interval."""
        mean, missed = dict[str, float](), 0.0
        for group, now in self._judged().items():
            spent = {name: value - before.get(group, {}).get(name, 0) for name, value in now.items()}
            missed += spent["iteration_missed_total"]
            if spent["iteration_total"]:
                mean[group] = spent["iteration_duration_seconds_sum"] / spent["iteration_total"]
        print(f"judged                  {sum(mean.values()):>8.3f} s, all groups together; {missed:.0f} left out")
        for group, seconds in sorted(mean.items(), key=lambda one: -one[1])[:3]:
            print(f"  {group:<22}{seconds:>8.3f} s of {30 if group.endswith('slow') else 5}")
        return bool(mean) and all(one < (30 if group.endswith("slow") else 5) for group, one in mean.items())

    def _print_queries(self, queries: list[str]) -> None:
        """Print the store's CPU seconds of every alert once, and of every panel over half an hour, as its page asks."""
        alerts = dict[str, float]()
        for _, alert in alerts_of(self._plan):
            if query := alert.expression(self._plan):
                alerts[query] = self._spent("query", query=query)
        panels = {query: self._ranged(query) for query in queries}
        for what, found in (("alerts, each once", alerts), ("panels, half an hour", panels)):
            print(f"{what:<24}{sum(found.values()):>8.2f} CPU-s of the store")
            for query, seconds in sorted(found.items(), key=lambda one: -one[1])[:3]:
                print(f"  {seconds:>6.2f}  {query[:200]}")

    def _ranged(self, query: str) -> float:
        now = time.time()
        return self._spent("query_range", query=query, start=f"{now - 1800:.0f}", end=f"{now:.0f}", step="15")

    def _spent(self, what: str, **words: str) -> float:
        """Return the CPU seconds that the store has used while it answered; print what it refuses."""
        before = self._used()["victoria-metrics"].cpu
        said = self._get(what, **words, nocache="1")
        if said.get("status") != "success":
            print(f"refused                 {said.get('error', 'no answer')[:300]}: {words['query']}")
        return self._used()["victoria-metrics"].cpu - before

    def _number(self, query: str) -> float:
        found = self._asked(query)
        return float(found[0]["value"][1]) if found else 0.0

    def _asked(self, query: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._get("query", query=query, nocache="1").get("data", {}).get("result", [])
        return found

    def _get(self, what: str, **words: str) -> dict[str, Any]:
        url = f"http://127.0.0.1:8428/api/v1/{what}?{urllib.parse.urlencode(words)}"
        done = self._host.run("curl", "-s", "--max-time", "300", url)
        return dict(json.loads(done.stdout)) if done.stdout else {}


if __name__ == "__main__":
    sys.exit(main())
