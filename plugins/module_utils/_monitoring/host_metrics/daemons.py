"""Whether daemons of our layers that are enabled here run, since when, and whether servers among them answer.

By their cgroups and processes: none is started for it. A daemon of which another alert tells more (etcd, OVN, libvirt,
...) is not in the table, nor is a unit whose processes have to end.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from . import answers, edge
from .samples import Sample

UNITS = Path("/etc/systemd/system")
GROUPS = (Path("/sys/fs/cgroup/systemd/system.slice"), Path("/sys/fs/cgroup/system.slice"))  # version 1, version 2
CONTAINER = Path("/run/systemd/container")  # written by systemd in one: the machine below keeps its clock
PROCESSES = Path("/proc")
CLOCKS = (
    "chrony.service", "ntpd-rs.service", "ntpsec.service", "openntpd.service", "systemd-timesyncd.service",
)  # fmt: skip
# Of the command of the unit's own process, where what it started may outlive it; "": any process is it.
DAEMONS = {
    **dict.fromkeys(CLOCKS, ""),
    "docker-registry.service": "",
    "groundup-contact.service": "",
    "groundup-machines.service": "",
    "groundup-netboot.service": "",
    "groundup-runner.service": "",
    "groundup-time.service": "",
    "ironic.service": "",
    "keepalived.service": "",
    "neutron-ovn-agent.service": "neutron-ovn-agent",
    "neutron-sriov-nic-agent.service": "",
    "nginx.service": "",
    "nova-compute.service": "",
    "nova-ssh.service": "/usr/sbin/sshd ",
    "ssh.service": "/usr/sbin/sshd ",
    "systemd-networkd.service": "",
    "systemd-resolved.service": "",
}

# Where servers on the loopback address have their port. Not sshd: it logs each question. systemd's own have a watchdog.
PORTS = {
    "docker-registry.service": (Path("/etc/docker/registry/config.yml"), re.compile(r"\baddr: \S+:(\d+)")),
    "groundup-contact.service": (UNITS / "groundup-contact.service", re.compile(r"--port (\d+)")),
    "groundup-machines.service": (UNITS / "groundup-machines.service", re.compile(r"--port (\d+)")),
    "ironic.service": (Path("/etc/ironic/ironic.conf"), re.compile(r"\[api\]\n(?:\w.*\n)*?port = (\d+)")),
    "nginx.service": (Path("/etc/nginx/conf.d/groundup.conf"), re.compile(r"\blisten (\d+)")),
}
_NO_REQUEST = b"?\r\n\r\n"  # a server of HTTP refuses it (400) before it logs or does anything
_STANDING = "DTtXZ"  # what a process does not do anything in: it waits for a disk, was stopped, or is dead


def enabled() -> Iterator[Sample]:
    """Yield what those that start with this host tell; of a host without systemd, nothing."""
    groups = next((one for one in GROUPS if one.is_dir()), None)
    names = {path.name for path in UNITS.glob("*.wants/*.service")} & DAEMONS.keys() if groups else set()
    up = set()
    for name in sorted(names - {*CLOCKS} if CONTAINER.exists() else names):
        if groups and not _masked(name):
            processes = list(_processes(groups / name, DAEMONS[name]))
            up |= {name} if any(state not in _STANDING for state, _ in processes) else set()
            yield Sample("groundup_unit_up", name in up, {"unit": name})
            if processes:
                begun = min(ticks for _, ticks in processes) / os.sysconf("SC_CLK_TCK")
                yield Sample("groundup_unit_started_seconds", begun, {"unit": name})
    yield from _answering(up)
    if edge.KEEPALIVED in names:
        yield from edge.addresses()


def _masked(name: str) -> bool:
    place = UNITS / name
    return place.is_symlink() and str(place.readlink()) == "/dev/null"


def _processes(group: Path, command: str) -> Iterator[tuple[str, int]]:
    """Yield the state of each process whose command has ``command``, and its start in ticks after the host's."""
    try:
        numbers = (group / "cgroup.procs").read_text(encoding="ascii").split()
    except OSError:  # systemd removes the group of one that has ended
        return
    for place in (PROCESSES / number for number in numbers):
        try:
            if not command or command in _text(place / "cmdline").replace("\0", " "):
                words = _text(place / "stat").rpartition(")")[2].split()  # its name before may have anything
                yield words[0], int(words[19])
        except OSError:  # it has ended
            continue


def _answering(names: set[str]) -> Iterator[Sample]:
    """Yield of servers among ``names``, whose processes run, whether they answer."""
    ports = {}
    for name in sorted(names & PORTS.keys()):
        path, port = PORTS[name]
        if path.exists() and (found := port.search(_text(path))):
            ports[name] = int(found[1])
    for name, answered in answers.begun_at(ports, _NO_REQUEST).items():
        yield Sample("groundup_unit_answers", answered, {"unit": name})


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
