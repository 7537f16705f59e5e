"""Place files and systemd units of nova-compute and Neutron's OVN agent, with the sandbox that each permits."""

from __future__ import annotations

import pwd
import re
from collections.abc import Mapping
from pathlib import Path

from .._base import files
from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.run import attempt, run
from .._host import accounts, environment
from .._host.accounts import group_id
from .._host.units import Unit, properties

CURRENT = str(environment.ROOT / environment.CURRENT)
NOVA = (Path("/etc/nova/nova-compute.conf"), Path("/etc/nova/host.conf"))
AGENT = (Path("/etc/neutron/ovn_agent.ini"), Path("/etc/neutron/host.conf"))
ACCOUNT = "nova"  # of nova-compute, and its group
HOME, QEMU = Path("/var/lib/nova"), "libvirt-qemu"  # QEMU's group, whatever libvirt runs it as
COMPUTE_ID = HOME / "compute_id"
SUDOERS = Path("/etc/sudoers.d/groundup-nova")
UNITS = Path("/etc/systemd/system")
_LINE, _LOGIN = 300, re.compile(r"//[^/\s]*@")  # characters of what a service wrote last; an account in a URL
COMPUTE, OVN_AGENT = "nova-compute.service", "neutron-ovn-agent.service"

# Of Neutron's agents, which are root: the capabilities that their helpers ask for.
SANDBOX = """\
NoNewPrivileges=yes
CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_RAW CAP_NET_BIND_SERVICE CAP_SYS_ADMIN CAP_SYS_PTRACE CAP_SETUID CAP_SETGID
CapabilityBoundingSet=CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_CHOWN CAP_FOWNER CAP_KILL CAP_SYS_CHROOT
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
"""

# sudo only for the helper, and only from an environment that root placed.
_SUDOERS = f"""\
# Written by groundup.cloud.
nova ALL=(root) NOPASSWD: {CURRENT}/bin/privsep-helper *
"""

# Neither gets a mount namespace: mounts of their helpers (network namespaces, shares) must be visible to others.
# nova-compute gets nothing that implies NoNewPrivileges, as most sandbox settings do: its helper needs sudo.
_NOVA_UNIT = f"""\
# Written by groundup.cloud.
[Unit]
Description=OpenStack nova-compute
After=network-online.target libvirtd.service openvswitch-switch.service
Wants=network-online.target libvirtd.service

[Service]
User=nova
Group=nova
Environment=PATH={CURRENT}/bin:/usr/sbin:/usr/bin:/sbin:/bin PYTHONUNBUFFERED=1
Environment=REQUESTS_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt
ExecStart={CURRENT}/bin/nova-compute --config-file {NOVA[0]} --config-file {NOVA[1]}
StateDirectory=nova
RuntimeDirectory=nova
Restart=always
RestartSec=5
# What it has begun on a guest it ends; how long that may take its configuration says (at most 620 seconds).
TimeoutStopSec=660
KillMode=mixed
LimitNOFILE=65536
# QEMU's account must get to its disks, and is not to be in the group that reads passwords.
UMask=0022

[Install]
WantedBy=multi-user.target
"""

# Root, for network namespaces. Its children there, one haproxy per network, survive its stop.
_AGENT_UNIT = f"""\
# Written by groundup.cloud.
[Unit]
Description=OpenStack Neutron OVN agent (metadata)
After=network-online.target ovn-controller.service
Wants=network-online.target ovn-controller.service

[Service]
Environment=PATH={CURRENT}/bin:/usr/sbin:/usr/bin:/sbin:/bin PYTHONUNBUFFERED=1
ExecStart={CURRENT}/bin/neutron-ovn-agent --config-file {AGENT[0]} --config-file {AGENT[1]}
StateDirectory=neutron
RuntimeDirectory=neutron
RuntimeDirectoryPreserve=yes
Restart=always
RestartSec=5
TimeoutStopSec=60
KillMode=process
LimitNOFILE=65536
{SANDBOX}
[Install]
WantedBy=multi-user.target
"""


def _sudo_takes(path: Path) -> None:
    run(["visudo", "-c", "-q", "-f", str(path)], why="a broken file stops sudo for everybody")


def look() -> dict[str, str]:
    """Return the state of each service, and the last line that its own processes wrote. Raises GroundupError."""
    found = {}
    for unit in (COMPUTE, OVN_AGENT):
        state = properties(unit, "ActiveState", "SubState")
        # By --unit, the last line would be systemd's own, of the next start.
        said = attempt(["journalctl", f"_SYSTEMD_UNIT={unit}", "--lines=1", "--output=cat", "--no-pager", "--quiet"])
        line = _LOGIN.sub("//...@", said.stdout.strip())[-_LINE:] or "it has written nothing"
        found[unit.partition(".")[0]] = f"{state.get('ActiveState')} ({state.get('SubState')}): {line}"
    return found


def place(changes: Changes, wanted: Mapping[str, Mapping[str, str]], *, compute_id: str) -> tuple[Unit, Unit]:
    """Place the services' files; return their units for the caller to start. Raises GroundupError, OSError."""
    compute, agent = Unit(changes, COMPUTE), Unit(changes, OVN_AGENT)
    # A shell, because sshd runs commands with it (`nova_ssh`); no password, and no key known to the host's sshd.
    nova = accounts.ensure(changes, ACCOUNT, home=str(HOME), login="/bin/sh", groups=("libvirt",))
    if nova is not None:
        _make(changes, pwd.getpwnam(ACCOUNT).pw_uid, nova)
    files.place(changes, SUDOERS, _SUDOERS, mode=0o440, valid=_sudo_takes)
    for path, text in zip(NOVA, (wanted["nova"]["cluster"], wanted["nova"]["host"]), strict=True):
        compute.place(path, text, mode=0o640, group=nova, secret=True)
    for path, text in zip(AGENT, (wanted["agent"]["cluster"], wanted["agent"]["host"]), strict=True):
        agent.place(path, text, mode=0o640, secret=True)
    # Written once: nova-compute would invent an id, and Placement would take a reinstalled host for another one.
    if files.read(COMPUTE_ID) is None:
        files.place(changes, COMPUTE_ID, f"{compute_id}\n")
    compute.place(UNITS / COMPUTE, _NOVA_UNIT)
    agent.place(UNITS / OVN_AGENT, _AGENT_UNIT)
    return compute, agent


def close(changes: Changes) -> None:
    """Let QEMU pass to disks and cached images of instances, and no other account of the host. Raises GroundupError.

    Once nova-compute runs by its present unit: by that of before, the directory is a state directory, and systemd gives
    one whose group is another back to Nova, with the disks in it.
    """
    qemu = group_id(QEMU)
    if qemu is not None:
        files.directory(changes, HOME / "instances", mode=0o710, group=qemu)
    elif not changes.check:
        raise GroundupError(
            f"there is no group {QEMU}", where="/etc/group", why="QEMU's account would not get to disks of instances",
            remedy="install the package libvirt-daemon-system again, then run groundup.cloud.hypervisor",
        )  # fmt: skip


def _make(changes: Changes, owner: int, group: int) -> None:
    """Make the directory of a new host, which nova-compute and its sshd need to start."""
    for place in (HOME, HOME / "instances"):
        if not place.exists():
            files.directory(changes, place, mode=0o755, owner=owner, group=group)
