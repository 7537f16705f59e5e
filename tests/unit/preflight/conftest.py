"""A plain Debian 13 as a file tree, and what no file says of it."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._host.probe import Echo
from ansible_collections.groundup.cloud.plugins.module_utils._plan.preflight import Expected
from ansible_collections.groundup.cloud.plugins.module_utils._preflight.checks import run
from ansible_collections.groundup.cloud.plugins.module_utils._preflight.links import Link
from ansible_collections.groundup.cloud.plugins.module_utils._preflight.model import MachineFacts

NOW = 1_800_000_000.0
SYSTEMS = [
    {
        "name": f"Debian {version}",
        "id": "debian",
        "version": version,
        "architecture": "amd64",
        "kernel": kernel,
        "python": "3.11",
    }
    for version, kernel in (("12", "1.0"), ("13", "1.1"))
]
SOCKETS = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
PLAIN = {
    "/etc/os-release": 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nID=debian\nVERSION_ID="13"\n',
    "/etc/hostname": "worker-1\n",
    "/etc/machine-id": "0123456789abcdef0123456789abcdef\n",
    "/proc/1/comm": "systemd\n",
    "/proc/cpuinfo": "processor\t: 0\nprocessor\t: 1\n",
    "/proc/meminfo": "MemTotal:        4000000 kB\nMemFree:          100000 kB\n",
    "/proc/swaps": "Filename\tType\tSize\tUsed\tPriority\n",
    "/proc/modules": "overlay 1 0 - Live 0x0\n",
    "/proc/filesystems": "nodev\tproc\n\text4\n",
    "/proc/net/tcp": SOCKETS,
    "/proc/net/udp": SOCKETS,
    "/proc/sys/kernel/hostname": "debian\n",
    "/sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory hugetlb pids rdma\n",
    f"/lib/modules/{platform.release()}/modules.builtin": "kernel/net/ipv4/tunnel4.ko\n",
    f"/lib/modules/{platform.release()}/modules.dep": "kernel/net/bridge/br_netfilter.ko.xz: kernel/net/bridge.ko.xz\n",
    "/usr/bin/dpkg": "",
    "/var/lib/dpkg/status": "Package: bash\nStatus: install ok installed\nVersion: 5\n\n",
}


class Host(MachineFacts):
    """A machine of files below a directory; what is no file is an attribute to change."""

    def __init__(self, root: Path) -> None:
        self.found = {
            "lo": Link(mtu=65536, up=True, mac="00:00:00:00:00:00", addresses={"127.0.0.1": 8}),
            "ens3": Link(mtu=1500, up=True, mac="52:54:00:00:00:01", addresses={"10.0.0.4": 24}),
        }
        self.lost: dict[int, dict[str, str]] = {}  # by size
        self.filtered: set[tuple[str, int]] = set()
        self.programs: dict[str, str] = {}
        host = self

        class Answers(Echo):
            def lost(self, hosts: Iterable[str], *, size: int) -> dict[str, str]:
                return {one: why for one, why in host.lost.get(size, {}).items() if one in hosts}

        super().__init__(
            root=root,
            links=lambda: self.found,
            echo=Answers,
            connects=lambda at, port: "filtered" if (at, port) in self.filtered else "closed",
            said=lambda argv: self.programs.get(argv[0]),
            now=NOW,
        )
        for name, text in PLAIN.items():
            self.write(name, text)

    def write(self, name: str, text: str = "") -> None:
        """Write a file of the host."""
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_text(text)

    def listen(self, port: int, program: str, *, inode: int = 77, pid: int = 812, protocol: str = "tcp") -> None:
        """Have ``program`` listen on ``port``; without a program the kernel itself does."""
        state = "0A" if protocol == "tcp" else "07"
        line = f"   0: 00000000:{port:04X} 00000000:0000 {state} 0:0 00:0 0 0 0 {inode} 1\n"
        self.write(f"/proc/net/{protocol}", self.read(f"/proc/net/{protocol}") + line)
        if program:
            self.write(f"/proc/{pid}/comm", f"{program}\n")
            self.path(f"/proc/{pid}/fd").mkdir(exist_ok=True)
            self.path(f"/proc/{pid}/fd/{inode}").symlink_to(f"socket:[{inode}]")


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Return a plain host."""
    return Host(tmp_path)


def wanted(**changes: Any) -> Expected:
    """Return the plan of a worker, with ``changes``."""
    plan: dict[str, Any] = {
        "name": "worker-1",
        "site": "unit",
        "user": "root",
        "releases": [],
        "interfaces": [
            {"name": "mgmt0", "network": "management", "address": "10.0.0.4", "prefix": 24, "mtu": 1500, "mac": None}
        ],
        "neighbours": {"management": ["10.0.0.5", "10.0.0.2"]},
        "reaches": {"10.0.0.2": [22, 6444]},
        "hardware": {"name": "small", "cores": 2, "memory_gb": 4, "nic_gbps": 1, "nvme": False},
        "space": {"/var/lib/containerd": 0},
        "listens": {"22/tcp": ["sshd", "systemd"], "10250/tcp": ["kubelet"], "8472/udp": ["the kernel"]},
        "kernel_modules": ["overlay", "br-netfilter", "tunnel4"],
        "systems": SYSTEMS,
        "node": True,
        "store": None,
        "controller_time": NOW - 1,
        "ranges": {},
        "control": {},
        **dict.fromkeys(("hardware_required", "swap", "cgroup_v1", "eviction"), False),
        "unused_networks": [],
        "manages_network": False,
        "ports": [],
        "virtual_ip": "",
        "public_ip": {},
    }
    return Expected(**plan | changes)


@pytest.fixture(autouse=True)
def _root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def faults(host: Host, plan: Expected | None = None) -> list[tuple[str, str, str]]:
    """Return check, severity and what of every fault."""
    found: list[dict[str, Any]] = run(host, plan or wanted())["faults"]
    assert all(one["remedy"] and one["where"] for one in found)
    return [(one["check"], one["severity"], one["what"]) for one in found]
