"""All targets of a site in one process, by the address that is asked: recorded names, in numbers as a real site has.

Usage: monitoring_targets.py FILE       what `Targets` needs, as JSON
"""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import ssl
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.tests.unit.monitoring.recorded import MADE, recorded

CORES, DEVICES, OSDS = 64, 12, 12  # a host's; its OSDs where it is one of storage
# How many values a label has; of the others one: they say more of the same thing.
WIDTHS: dict[str, dict[str, int]] = {
    "node": {"cpu": CORES, "mode": 8, "device": DEVICES, "collector": 45, "path": 12, "part": 12, "file": 5},
    # 12,300 series with its histograms, 3,700 without, as one without nodes has.
    "api-server": {
        "resource": 40, "priority_level": 8, "name": 20, "verb": 3, "operation": 4, "le": 9, "code_path": 4,
        "request_operation": 3, "stability_level": 4, "phase": 2, "result": 3, "filter": 4,
    },
    "etcd": {"le": 16, "grpc_method": 20, "grpc_code": 17, "action": 8, "name": 12, "op": 4},
    "haproxy": {"proxy": 16, "server": 3, "code": 6, "state": 5},
    "ceph": {"pool_id": 12, "name": 20, "method": 5, "type": 2},
}  # fmt: skip
VALUES = {
    "mode": ("idle", "user", "system", "iowait", "irq", "softirq", "steal", "nice"),
    "state": ("UP", "MAINT", "DRAIN", "NOLB", "DOWN"), "code": ("200", "201", "400", "404", "409", "500"),
    "fstype": ("ext4",),
}  # fmt: skip
STILL = ("node_timex_offset_seconds",)  # what would raise an alert of each host
OF_ROLES = {
    "hypervisor": ("ovs_", "libvirt_", "ovn_controller_"), "storage": ("ceph_daemon_",),
    "control": ("ovn_db_", "ovn_southbound_", "ovn_chassis_", "mysql_", "memcached_", "rabbitmq_"),
    "seed": ("groundup_",),
}  # fmt: skip
OF_ALL = "groundup_host_metrics_last_run_timestamp_seconds"
PATHS = {"/etcd/metrics": "etcd"}
CHANGING = ("_total", "_count", "_sum", "_bucket", "_bytes", "_seconds", "_load1", "_Msgs", "_InSegs", "_OutSegs")


class Targets:
    """What each address tells."""

    def __init__(self, given: dict[str, Any]) -> None:
        """Take roles by address, names of hypervisors, number of OSDs, jobs by port, and the interval."""
        self._given, self._kept = given, dict[tuple[str, str], tuple[int, bytes]]()
        self._series = dict[tuple[str, str], list[tuple[str, int]]]()

    def body(self, address: str, port: int, path: str) -> bytes:
        """Return the compressed answer of this round."""
        key = (self._given["roles"][address], PATHS.get(path, self._given["jobs"][str(port)]))
        number = int(time.time() / self._given["interval"])
        if self._kept.get(key, (0, b""))[0] != number:
            self._kept[key] = number, gzip.compress(self._text(*key, number).encode(), 1)
        return self._kept[key][1]

    def _text(self, role: str, job: str, number: int) -> str:
        if (role, job) not in self._series:
            self._series[role, job] = [(one, step) for step, one in enumerate(self._named(role, job), 1)]
        now = f"{time.time():.0f}"
        lines = []
        for one, step in self._series[role, job]:
            name = one.partition("{")[0]
            value = (
                "0" if name in STILL or 'state="DOWN"' in one else now if name.endswith("timestamp_seconds") else "1"
            )
            if value == "1" and name.endswith(CHANGING):
                value = f"{number * step + number * 7919 % (step + 89)}"
            lines.append(f"{one} {value}\n")
        return "".join(lines)

    def _named(self, role: str, job: str) -> Iterator[str]:
        """Yield each series with its labels."""
        told, widths = recorded(job), dict(WIDTHS[job])
        if job == "node":
            own = tuple(word for one in role.split() for word in OF_ROLES.get(one, ()))
            told = {name: labels for name, labels in told.items() if not name.startswith("groundup_backup")}
            told |= {name: labels for name, labels in MADE.items() if name.startswith((OF_ALL, *own))}
            widths |= {"ceph_daemon": OSDS}
        for name, labels in told.items():
            own_widths = widths | _own(name, osds=self._given["osds"])
            values = [self._values(label, own_widths) for label in sorted(labels)]
            for row in itertools.product(*values):
                text = ",".join(f'{label}="{value}"' for label, value in zip(sorted(labels), row, strict=True))
                yield f"{name}{{{text}}}" if text else name

    def _values(self, label: str, widths: dict[str, int]) -> list[str]:
        if label == "chassis":
            return list(self._given["hypervisors"])
        wide = widths.get(label, 1)
        known = VALUES.get(label, ())[:wide]
        return [*known, *(f"{label}-{number}" for number in range(len(known), wide))]


def _own(name: str, *, osds: int) -> dict[str, int]:
    """Return widths that this metric alone has."""
    if name.startswith("ceph_osd"):
        return {"ceph_daemon": osds}
    return {"mode": 2, "path": 1, "name": 1} if "guest" in name or name.endswith(("_info", "_metadata")) else {}


async def serve(given: dict[str, Any]) -> None:
    """Answer until the end."""
    targets = Targets(given)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(given["certificate"])
    tls.load_verify_locations(given["ca"])
    tls.verify_mode = ssl.CERT_OPTIONAL

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address, port = writer.get_extra_info("sockname")[:2]
        with suppress(OSError, asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                body = targets.body(address, port, head.split(b" ", 2)[1].decode())
                shape = f"Content-Type: text/plain\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}"
                writer.write(f"HTTP/1.1 200 OK\r\n{shape}\r\n\r\n".encode() + body)
                await writer.drain()
        writer.close()

    for port, job in given["jobs"].items():  # the network is one of its own, which ends at loopback
        await asyncio.start_server(answer, "0.0.0.0", int(port), ssl=None if job == "ceph" else tls, backlog=1024)  # noqa: S104
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
