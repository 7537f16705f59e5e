"""What a guest's writes reach of `rbd bench` on its own host, and how soon an instance answers: a clone, a local copy.

Usage: SITE=inventories/cloud/site.yml ci/lab shell python ci/bench/volumes.py [--rounds 3]

Needs what `ci/lab up` left of a site whose hypervisors have disks in Ceph. Guest and `rbd bench` write in turns, one
write after the other, through librbd with its cache as it is, and flush at the end; of each the median counts. An
emulated guest takes its time for a write, whatever its disk. So it writes to a disk in its host's memory, too: where
that alone takes longer than the bound leaves, the figure is told and not judged. For local copies the second
hypervisor's Nova is told so meanwhile. Exit code: 0 within the bounds, 1 above one, 2 without such a site.
"""

from __future__ import annotations

import argparse
import re
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openstack
from ansible_collections.groundup.cloud.ci.bench.cloud import ROOT, SITE, Figure, report
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.module_utils._plan.ceph import CephPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.guest import Guest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.smoke import within
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.steps import Steps
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.tenant import Ground, TenantOptions
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.guest_image import guest_image
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.clients.disks import Disks
from ansible_collections.groundup.cloud.tests.e2e.clients.volumes import WAIT

WRITES = {"4 KB": (4096, 1024), "4 MB": (4 << 20, 48)}  # bytes of a write, and how many
MOST = 1.25  # rbd bench / guest: the guest reaches 80 %
_RBD = "rbd --conf /etc/nova/ceph.conf --keyring /etc/nova/ceph.keyring"
_OPERATIONS = re.compile(r"^elapsed: .* ops/sec: ([\d.e+]+)", re.MULTILINE)
# Its dd tells no time.
_WRITE = """
now() { cut -d " " -f 1 /proc/uptime; }
began=$(now)
dd if=/dev/zero of=/dev/vdb bs=%d count=%d oflag=direct conv=fsync 2> /dev/null || exit 1
echo "$began $(now)"
"""
_HOST = "/etc/nova/host.conf"


def rate_of_bench(said: str, *, size: int) -> float:
    """Return the bytes a second of `rbd bench`, whose writes have ``size``. Raises ValueError."""
    if not (found := _OPERATIONS.search(said)):
        raise ValueError(f"rbd bench said no rate: {said[-400:]}")
    return float(found[1]) * size


def rate_of_guest(said: str, *, size: int) -> float:
    """Return the bytes a second of a guest that wrote ``size`` and says when it began and ended. Raises ValueError."""
    began, ended = map(float, said.split())
    return size / (ended - began)


def reachable(bench: float, limit: float) -> bool:
    """Return whether a guest that writes to memory at ``limit`` can keep the bound: the times of a write add up."""
    return 1 / (1 / bench + 1 / limit) >= bench / MOST


class Bench(Disks):
    """One guest that writes, then instances that only start."""

    plan: Plan
    rounds: int
    rbd: str  # the command, for the pool of instances' disks

    def measure(self, plan: Plan, ceph: CephPlan, rounds: int) -> list[Figure]:
        """Return every figure."""
        self.plan, self.rounds, self.seconds = plan, rounds, {}
        self.rbd = f"{_RBD} --name {ceph.clients['nova'].name} --pool {ceph.pools['vms'].name}"
        self.options = self._as_raw()
        ground = self.prepare(chooses=True)
        first, second = sorted(name for name, host in plan.hosts.items() if "hypervisor" in host.roles)[:2]
        seconds, server, guest = self._started(ground, first, "clone-0")
        found, clones, copies = self._writes(server, guest, first), [seconds], list[float]()
        self._gone(server)
        for number in range(1, rounds):
            seconds, server, _ = self._started(ground, first, f"clone-{number}")
            clones.append(seconds)
            self._gone(server)
        with self._local(second):
            for number in range(rounds):
                seconds, server, _ = self._started(ground, second, f"copy-{number}")
                copies.append(seconds)
                self._gone(server)
        print(f"seconds to the first answer: clones {clones}, local copies {copies}", flush=True)
        ratio = statistics.median(clones) / statistics.median(copies)
        return [*found, Figure(what="first answer: clone / local copy", measured=ratio, most=1.0, decides=False)]

    def _started(self, ground: Ground, host: str, name: str) -> tuple[float, Any, Guest]:
        began = time.monotonic()
        server = self.create(ground, name=f"{self.name}-{name}", host=host)
        guest = self._guest(ground, server)
        return round(time.monotonic() - began, 1), server, guest

    def _gone(self, server: Any) -> None:
        self.tenant.compute.delete_server(server["id"])
        self.tenant.compute.wait_for_delete(server, wait=int(WAIT))

    def _writes(self, server: Any, guest: Guest, host: str) -> list[Figure]:
        """Return how much faster than the guest `rbd bench` on its host writes."""
        limits = self._limits(server, guest, host)
        volume = self._volume(self.seconds, "empty volume", size=1)
        self._attach(self.seconds, server, volume, guest)
        rates: dict[str, list[tuple[float, float]]] = {}
        self._on(host, f"{self.rbd} create --size 1G {self.name}")
        try:
            for number in range(self.rounds + 1):
                for what, (size, count) in WRITES.items():
                    bench = self._on(
                        host,
                        f"{self.rbd} bench --io-type write --io-pattern seq --io-threads 1 "
                        f"--io-size {size} --io-total {size * count} {self.name}",
                    )
                    pair = rate_of_bench(bench, size=size), self._written(guest, size, count)
                    if number:  # the first one makes objects
                        rates.setdefault(what, []).append(pair)
        finally:
            self._on(host, f"{self.rbd} rm --no-progress {self.name}")
        self._detach(self.seconds, server, volume, guest)
        found = []
        for what, pairs in rates.items():
            bench, inside = (statistics.median(one) / (1 << 20) for one in zip(*pairs, strict=True))
            limit = statistics.median(limits[what]) / (1 << 20)
            print(f"{what} writes: rbd bench {bench:.2f} MiB/s, guest {inside:.2f} MiB/s", flush=True)
            print(f"{what} writes: the guest to memory {limit:.2f} MiB/s", flush=True)
            able = reachable(bench, limit)
            found.append(
                Figure(what=f"{what} writes: rbd bench / guest", measured=bench / inside, most=MOST, decides=able)
            )
        return found

    def _limits(self, server: Any, guest: Guest, host: str) -> dict[str, list[float]]:
        """Return the bytes a second of each round that the guest writes to a disk in its host's memory."""
        place, rates = f"/dev/shm/{self.name}", dict[str, list[float]]()  # noqa: S108  # a host of this lab
        self._on(host, f"truncate --size 1G {place}; chmod 0666 {place}")
        try:
            self._on(host, f"virsh attach-disk {server['id']} {place} vdb --live --cache writeback --subdriver raw")
            late = wait_until(lambda: guest.ask("test -b /dev/vdb").fault, timeout=WAIT, pause=0.5)
            if late:
                raise ValueError(f"no disk in memory: {late}")
            for number in range(self.rounds + 1):
                for what, (size, count) in WRITES.items():
                    rate = self._written(guest, size, count)
                    if number:  # the first one takes the memory
                        rates.setdefault(what, []).append(rate)
            self._on(host, f"virsh detach-disk {server['id']} vdb --live")
            gone = wait_until(lambda: not guest.ask("test -b /dev/vdb").fault, timeout=WAIT, pause=0.5)
            if gone:
                raise ValueError("the disk in memory is still there")
        finally:
            self._on(host, f"rm --force {place}")
        return rates

    @staticmethod
    def _written(guest: Guest, size: int, count: int) -> float:
        """Return the bytes a second of the guest's writes to /dev/vdb. Raises ValueError."""
        said = guest.ask(_WRITE % (size, count), timeout=WAIT)
        if said.fault:
            raise ValueError(f"dd of {count} times {size} bytes in the guest: {said.fault}")
        return rate_of_guest(said.data.decode(), size=size * count)

    @contextmanager
    def _local(self, host: str) -> Iterator[None]:
        """Have new instances of a host have their disks there."""

        def switch(before: str, after: str) -> None:
            self._on(host, f"sed -i 's/^images_type = {before}$/images_type = {after}/' {_HOST}")
            self._on(host, "systemctl restart nova-compute")
            (service,) = self.admin.compute.services(binary="nova-compute", host=host)
            seen = str(service["updated_at"])
            again = self.admin.compute.services
            self._until(
                lambda: any(str(one["updated_at"]) != seen for one in again(binary="nova-compute", host=host)),
                ("True",), f"nova-compute of {host}",
            )  # fmt: skip

        switch("rbd", "qcow2")
        try:
            yield
        finally:
            switch("qcow2", "rbd")

    def _on(self, host: str, words: str) -> str:
        """Return what root of a host says. Raises CalledProcessError."""
        state, access = state_dir(self.plan.site), self.plan.access
        command = [
            "ssh", "-F", "/dev/null", "-i", f"{state}/ssh/id_ed25519", "-p", str(access.port),
            "-o", f"UserKnownHostsFile={state}/ssh/known_hosts", "-o", "BatchMode=yes",
            f"{access.user}@{self.plan.hosts[host].address}", f"sudo sh -euc {shlex.quote(words)}",
        ]  # fmt: skip
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> int:
    """Measure, print, judge, and leave nothing behind."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    plan = site_plan(ROOT / SITE)
    ceph = plan.ceph
    if not ceph or not plan.hypervisor.disks:
        print(f"no hypervisor of {SITE} has disks in Ceph", file=sys.stderr)
        return 2
    options = TenantOptions(image=Path(guest_image(None, progress=print)), user="guest", timeout=WAIT)
    steps = Steps(lambda line: print(line, file=sys.stderr, flush=True))
    return report(within(Bench, openstack.connect(), options, steps, lambda it: it.measure(plan, ceph, rounds)))


if __name__ == "__main__":
    sys.exit(main())
