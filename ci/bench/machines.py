#!/usr/bin/env python3
"""What many machines from power-off cost: our queue and ways, the real Ironic, nodes and agents without machines.

Ironic runs as on a seed (SQLite, TLS by the web server) on a loopback of its own, and is killed meanwhile. Promises: no
machine is lost, ours is at most a tenth of Ironic's CPU, never more machines are under way than the queue admits.

Usage: ci/run python ci/bench/machines.py [--machines N] [--kills K] [--at-once N]       as root
Exit code: 0 within the bounds, 1 above one.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import configuration
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import documents, install
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal, file_of, home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import DISCOVERED
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION, state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import MetalPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.secrets import open_store
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish.digests import PublishedDigests, save
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root
from ansible_collections.groundup.cloud.tests.integration.metal import ironic as seed
from ansible_collections.groundup.cloud.tests.unit import tls

SHARE = 0.10  # of Ironic's CPU: the most that is ours
TICK = os.sysconf("SC_CLK_TCK")
SITE = """\
plugin: groundup.cloud.site
site: bench-machines
domain: bench.test
profile: region
networks:
  management: {cidr: 10.0.0.0/16}
  oob: {cidr: 10.1.0.0/16}
machines:
  seed: {count: 1, rack: r1, machines: {seed-1: {address: 10.0.2.2}}}
  control: {count: 3, racks: [r1, r2, r3], provisioner: existing}
  worker:
    count: %(count)s
    racks: [r1, r2, r3, r4, r5]
    bmc: {protocol: redfish-virtual-media}
    machines:
%(machines)s
kubernetes: {version: 1.36.3, cni: flannel, pod_cidr: 10.240.0.0/12}
storage: {backend: external}
supply: {source: build}
"""


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


@contextmanager
def fake_site(room: Path, count: int) -> Iterator[tuple[HostRoot, Plan]]:
    """Give a seed whose Ironic and agents answer, and the plan of ``count`` machines that are none.

    Nodes that the file ``silent`` in ``room`` lists are not heard of.
    """
    numbers = range(1, count + 1)
    lines = [f'      worker-{n}: {{mac: "52:54:01:00:{n >> 8:02x}:{n & 255:02x}"}}' for n in numbers]
    (room / "site.yml").write_text(SITE % {"count": count, "machines": "\n".join(lines)})
    (room / "password").write_text("of this benchmark")
    os.environ |= {"GROUNDUP_STATE": str(room / "state"), "ANSIBLE_VAULT_PASSWORD_FILE": str(room / "password")}
    plan = make_plan(load_site(room / "site.yml"))
    own = tls.pair(address=seed.SEED)
    _state(plan, ca=own.certificate)
    with host_root(room / "root", f"{seed.SEED}/24") as host:
        _seed(host, plan, room, own)
        seed.start(host)
        agents = _agents(host, plan, silent=room / "silent")
        try:
            yield host, plan
        finally:
            agents.kill()


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
    ours, theirs, count = found["cpu"], gauge.cpu, given.machines
    print(f"machines                {count:>8}  at most {given.at_once} under way; Ironic killed {killed} times")
    print(
        f"installed               {found['serving']:>8}  in {wall:.0f} s: {found['serving'] / wall * 60:.0f} a minute"
    )
    print(f"failed                  {len(found['failed']):>8}  {found['failed'] or ''}")
    print(f"most under way          {found['most']:>8}")
    print(f"longest wait            {found['longest']:>8.0f} s in the queue")
    print(f"Ironic                  {theirs:>8.1f} CPU-s, {theirs / count:.2f} a machine; {gauge.memory} MiB at most")
    print(f"ours                    {ours:>8.1f} CPU-s, {ours / theirs:.1%} of Ironic's  (at most {SHARE:.0%})")
    good = found["serving"] == count and ours <= SHARE * theirs and found["most"] <= given.at_once
    return 0 if good and killed == given.kills else 1


class Gauge:
    """CPU and memory of Ironic, over its processes."""

    def __init__(self, host: HostRoot) -> None:
        """Take the host that it runs on."""
        self._host, self._seen = host, dict[int, float]()
        self.memory = 0

    @property
    def cpu(self) -> float:
        """Return the CPU seconds of all its processes so far."""
        return sum(self._seen.values())

    def pids(self) -> list[int]:
        """Return its processes, as this machine numbers them: a master and those that work."""
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                same = (place / "ns/pid").readlink() == Path(f"/proc/{self._host._pid}/ns/pid").readlink()
                words = (place / "cmdline").read_bytes()
                if same and (words.startswith(b"ironic:") or str(configuration.CONF).encode() in words):
                    found.append(int(place.name))
        return found

    def look(self) -> list[int]:
        """Note what it has used; return its processes."""
        memory, pids = 0, self.pids()
        for pid in pids:
            with suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                self._seen[pid] = sum(map(int, fields[11:15])) / TICK  # and its children's: media it makes
                words = Path(f"/proc/{pid}/statm").read_text().split()
                memory += int(words[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20
        self.memory = max(self.memory, memory)
        return pids


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
    host.start("env", path, str(home / "bin/ironic"), "--config-file", str(configuration.CONF))


def _seed(host: HostRoot, plan: Plan, room: Path, own: tls.Pair) -> None:
    """Install Ironic as a seed has it, with a driver for machines that are none."""
    for name in ("vmlinuz", "initramfs", "esp.img", "machine.qcow2"):
        (room / "empty").mkdir(exist_ok=True)
        (room / "empty" / name).write_text("nothing")
    found = {name: artifact.path for name, artifact in supply.ensure(["ironic-13"]).items() if name == "ironic-13"}
    seed._netboot = lambda *_: None  # nothing boots here
    seed._install(host, found | dict.fromkeys(("deploy-ramdisk-13", "machine-13"), room / "empty"), own)
    image = host.at(configuration.MEDIA) / (plan.metal.image if plan.metal else "")
    image.parent.mkdir(parents=True)
    image.write_text("nothing")
    conf = host.at(configuration.CONF)
    text = conf.read_text().replace(
        "enabled_hardware_types = redfish", "enabled_hardware_types = redfish,fake-hardware"
    )
    for kind in ("boot", "management", "power"):
        text = text.replace(f"enabled_{kind}_interfaces = ", f"enabled_{kind}_interfaces = fake,")
    conf.write_text(text)
    # Ironic's fake machines cannot boot from a disk, real ones do.
    (driver,) = host.at(configuration.PROGRAMS).glob(
        "current/lib/python3*/site-packages/ironic/drivers/modules/fake.py"
    )
    known = "return [boot_devices.PXE"
    driver.write_text(driver.read_text().replace(f"{known}]", f"{known}, boot_devices.DISK]"))
    for compiled in driver.parent.glob("__pycache__/fake.*"):
        compiled.unlink()  # the environment's are not compared with their sources


def _metal(plan: Plan) -> MetalPlan:
    if plan.metal is None:
        sys.exit("the site of this benchmark has no seed")
    return plan.metal


def _agents(host: HostRoot, plan: Plan, *, silent: Path) -> subprocess.Popen[bytes]:
    metal = _metal(plan)
    inside = {"api": metal.api_inside, "contact": metal.contact_inside}
    more = [word for name, port in inside.items() for word in (f"--{name}", f"http://127.0.0.1:{port}")]
    log = host.at("/tmp/agents.log").open("wb")  # noqa: S108  # of the seed
    argv = [sys.executable, str(COLLECTION / "tests/rack/agents.py"), *more, "--login", f"groundup:{seed.PASSWORD}"]
    argv += ["--silent", str(silent)]
    return subprocess.Popen(host.argv(*argv, outside=True), stdout=log, stderr=log)


def _state(plan: Plan, *, ca: str) -> None:
    store = open_store(plan.site, write=True)
    store.ensure(["bmc/default", "ironic/groundup"])
    seed.PASSWORD = store.get("ironic/groundup")
    state = state_dir(plan.site)
    (state / "ssh").mkdir(parents=True)
    (state / "ssh/id_ed25519.pub").write_text("ssh-ed25519 SITE\n")
    (state / "ca.crt").write_text(ca)
    save(plan.site, PublishedDigests(files={_metal(plan).image: "0" * 64}))


def without_machines(plan: Plan) -> Plan:
    """Have our code enrol nodes of fake hardware; return the plan with the one server that gives the image here."""
    node = documents.node

    def fake(*arguments: Any, **more: Any) -> dict[str, Any]:
        made = node(*arguments, **more)
        # No ramdisk inspects what is none.
        return made | {
            "driver": "fake-hardware",
            "boot_interface": "fake",
            "driver_info": {"deploy_forces_oob_reboot": True},
            "extra": made["extra"] | {DISCOVERED: True},
        }

    documents.node = fake
    install._judged = lambda *_: None
    metal = _metal(plan)
    return replace(plan, metal=replace(metal, files_url=metal.media_url))


def _control(room: Path, *, at_once: int) -> int:
    """Do what the controller does, in the seed's network."""
    plan = make_plan(load_site(room / "site.yml"))
    plan = without_machines(plan)
    names = [name for name, host in plan.hosts.items() if host.provisioner == "ironic"]
    before, began = resource.getrusage(resource.RUSAGE_SELF), time.time()
    options = install.Options(at_once=at_once, timeout=900)
    failed = install.install(Changes(check=False), plan, names, print, options)
    after = resource.getrusage(resource.RUSAGE_SELF)
    ways = {name: Journal(file_of(home_of(plan.site), name)).lines() for name in names}
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
        "failed": {name: error.what for name, error in failed.items()},
        "longest": max(lines[0]["time"] - began for lines in ways.values() if "time" in lines[0]),
        "most": most,
    }
    (room / "found.json").write_text(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
