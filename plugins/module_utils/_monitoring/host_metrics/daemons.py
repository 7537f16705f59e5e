"""Whether daemons of our layers that are enabled here run: by their cgroups, so no process is started for it.

What hangs is no matter of this. A daemon of which another alert tells more (etcd, OVN, libvirt, ...) is not in the
table, nor is a unit whose processes have to end.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

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


def enabled() -> Iterator[Sample]:
    """Yield whether each that starts with this host has processes; of a host without systemd, nothing."""
    groups = next((one for one in GROUPS if one.is_dir()), None)
    names = {path.name for path in UNITS.glob("*.wants/*.service")} & DAEMONS.keys() if groups else set()
    for name in sorted(names - {*CLOCKS} if CONTAINER.exists() else names):
        if groups and not _masked(name):
            yield Sample("groundup_unit_up", _runs(groups / name, DAEMONS[name]), {"unit": name})


def _masked(name: str) -> bool:
    place = UNITS / name
    return place.is_symlink() and str(place.readlink()) == "/dev/null"


def _runs(group: Path, command: str) -> bool:
    try:
        processes = (group / "cgroup.procs").read_text(encoding="ascii").split()
    except OSError:  # systemd removes the group of one that has ended
        return False
    return any(not command or command in _command(process) for process in processes)


def _command(process: str) -> str:
    try:
        return (PROCESSES / process / "cmdline").read_text(encoding="utf-8", errors="replace").replace("\0", " ")
    except OSError:  # it has ended
        return ""
