"""What a lab makes on this machine, by kind: nothing of it is there before the first lab, nor after the last.

Other labs of the machine are theirs: only what carries the site's name, or no other site's, is looked at.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

RUN = Path("/run/groundup")
CGROUPS = Path("/sys/fs/cgroup")
# Settings a kubelet changes, and one any host can.
SETTINGS = ("kernel/panic", "kernel/panic_on_oops", "vm/overcommit_memory", "vm/swappiness")
NETNS_MOUNT = "mount of /run/netns"


@dataclass(frozen=True)
class Traces:
    """What a lab could leave behind."""

    links: frozenset[str]
    namespaces: frozenset[str]
    mounts: frozenset[str]
    groups: frozenset[str]
    listening: frozenset[str]
    directories: frozenset[str]
    processes: frozenset[str]


NOTHING = Traces(*[frozenset()] * 7)


def traces(site: str, network: str) -> Traces:
    """Look for everything of ``site``, whose management plane is ``network``."""
    links = json.loads(output("ip", "-j", "link"))
    prefix = network.rsplit(".", 1)[0] + "."
    sockets = (" ".join(line.split()[:5:4]) for line in output("ss", "-Hltun").splitlines())
    return Traces(
        links=frozenset(link["ifname"] for link in links if _of(site, link.get("ifalias", ""))),
        namespaces=frozenset(path.name for path in Path("/run/netns").glob("*") if _of(site, path.name)),
        mounts=frozenset(point for point in _mounts() if _of(site, point)),
        groups=frozenset(str(path) for path in CGROUPS.glob("**/groundup/**/") if _of(site, str(path))),
        listening=frozenset(socket for socket in sockets if prefix in socket),
        directories=frozenset(str(path) for path in RUN.glob("*") if _of(site, str(path))),
        processes=frozenset(_processes(site, network)),
    )


def settings() -> dict[str, str]:
    """Return the machine's own values of what hosts of a lab change, and whether /run/netns is a mount."""
    values = {name: (Path("/proc/sys") / name).read_text().strip() for name in SETTINGS}
    return {**values, NETNS_MOUNT: str("/run/netns" in _mounts())}


def alone() -> bool:
    """Say whether no lab is on this machine: only then are its settings its own."""
    return not any(path.is_dir() for path in RUN.glob("*"))


def output(*command: str) -> str:
    """Run a command and return its standard output. Raises CalledProcessError."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _of(site: str, name: str) -> bool:
    if name.startswith("groundup/"):  # a link's alias
        return name.startswith(f"groundup/{site}/")
    others = {path.name for path in RUN.glob("*") if path.is_dir()} - {site}
    shared = bool(others) and (name == "/run/groundup/machine.json" or name.endswith("/groundup"))
    return (
        ("groundup" in name or f"/{site}/lab/" in name)
        and not shared
        and not any(f"groundup{mark}{other}" in name or f"/{other}/lab/" in name for other in others for mark in "./")
    )


def _mounts() -> list[str]:
    return [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]


def _processes(site: str, network: str) -> list[str]:
    """Every process that has to do with the site: in its control groups, or kept by ssh to its hosts."""
    pids = [pid for path in CGROUPS.glob(f"**/groundup/{site}/**/cgroup.procs") for pid in path.read_text().split()]
    return [*pids, *output("ss", "-Htnp", "dst", network).splitlines()]
