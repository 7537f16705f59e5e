"""Whether daemons of our layers that are enabled here run: by their cgroups, so no process is started for it.

A process that is stopped, or waits for a disk, is none; one that waits for ever in another way is not seen. A daemon of
which another alert tells more (etcd, OVN, libvirt, ...) is not in the table, nor is a unit whose processes have to end.
"""

from __future__ import annotations

from collections.abc import Iterator
from os import sysconf
from pathlib import Path

from .samples import Sample

UNITS = Path("/etc/systemd/system")
GROUPS = (Path("/sys/fs/cgroup/systemd/system.slice"), Path("/sys/fs/cgroup/system.slice"))  # version 1, version 2
CONTAINER = Path("/run/systemd/container")  # written by systemd in one: the machine below keeps its clock
PROCESSES = Path("/proc")
_STUCK, _TICKS = "DTtXZ", sysconf("SC_CLK_TCK")
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
            since = _since(groups / name, DAEMONS[name])
            yield Sample("groundup_unit_up", since is not None, {"unit": name})
            if since is not None:
                yield Sample("groundup_unit_since_boot_seconds", since, {"unit": name})


def _masked(name: str) -> bool:
    place = UNITS / name
    return place.is_symlink() and str(place.readlink()) == "/dev/null"


def _since(group: Path, command: str) -> float | None:
    """Return when its oldest process that does something began, in seconds since the boot; None: it has none."""
    try:
        processes = (group / "cgroup.procs").read_text(encoding="ascii").split()
    except OSError:  # systemd removes the group of one that has ended
        return None
    own = (_begun(process) for process in processes if not command or command in _read(process, "cmdline"))
    return min((one for one in own if one is not None), default=None)


def _begun(process: str) -> float | None:
    """Return when a process began; None for one that is stopped, waits for a disk, or has ended (proc_pid_stat(5))."""
    state, *fields = _read(process, "stat").rpartition(")")[2].split() or ["X"]  # its name may have any letter
    return None if state in _STUCK else int(fields[18]) / _TICKS


def _read(process: str, file: str) -> str:
    try:
        return (PROCESSES / process / file).read_text(encoding="utf-8", errors="replace").replace("\0", " ")
    except OSError:  # it has ended
        return ""
