"""Configure ssh between hypervisors for Nova, which copies disks over it when it moves stopped instances.

A separate sshd runs as user nova on its own port. The host's sshd does not know the key, and the key gives access only
to instance files. All hypervisors of a site share one key, because Nova may move any instance to any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .._base import files
from .._base.changes import Changes
from .._base.files import HEADER
from .._base.run import run
from .._host import accounts
from .._host.units import Unit
from . import services

NAME = "nova-ssh.service"
HOME = Path("/etc/nova/ssh")
KEY, CONFIG, COMMAND = HOME / "key", HOME / "sshd_config", HOME / "command"
KNOWN, AUTHORIZED = HOME / "known_hosts", HOME / "authorized_keys"
CLIENT = Path("/etc/ssh/ssh_config.d/groundup-nova.conf")
_ALIAS = "hypervisors"  # the host key alias shared by all
_SFTP = "/usr/lib/openssh/sftp-server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peers:
    """The hypervisors that connect, and their shared key."""

    address: str  # of this host
    port: int
    hosts: Mapping[str, str]  # name -> address, of all hypervisors
    public_key: str


def place(changes: Changes, peers: Peers, *, key: str) -> Unit:
    """Place the files of Nova's sshd and its clients; return the unit for the caller to start. Raises GroundupError."""
    unit = Unit(changes, NAME)
    unit.place(KEY, key, mode=0o640, group=accounts.group_id("nova"), secret=True)
    unit.place(COMMAND, _COMMAND, mode=0o755)
    unit.place(CONFIG, _sshd(peers), valid=_sshd_takes)
    # Read at each login, so a new hypervisor needs no restart here.
    files.place(changes, AUTHORIZED, _authorized(peers))
    files.place(changes, KNOWN, f"{_ALIAS} {peers.public_key}\n")
    files.place(changes, CLIENT, _client(peers))
    unit.place(services.UNITS / NAME, _UNIT)
    return unit


def _sshd_takes(path: Path) -> None:
    # Test as user nova, like the service: root would refuse its own key if others may read it.
    run(
        ["runuser", "-u", "nova", "--", "/usr/sbin/sshd", "-t", "-f", str(path)],
        why="instances that are stopped could not be moved here",
    )


def _sshd(peers: Peers) -> str:
    address = f"[{peers.address}]" if ":" in peers.address else peers.address
    return f"""{HEADER}\
ListenAddress {address}:{peers.port}
HostKey {KEY}
AllowUsers nova
AuthorizedKeysFile {AUTHORIZED}
AuthenticationMethods publickey
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
DisableForwarding yes
PermitTTY no
PermitUserRC no
PidFile none
Subsystem sftp {_SFTP}
# A whole drain begins at once.
MaxStartups 100
ClientAliveInterval 60
"""


def _authorized(peers: Peers) -> str:
    clients = ",".join(sorted(peers.hosts.values()))
    return f'{HEADER}restrict,from="{clients}",command="{COMMAND}" {peers.public_key}\n'


def _client(peers: Peers) -> str:
    """Return the client's options. Nova calls a host by its address, or by its name when an image is missing."""
    names = "".join(
        f'Match localuser nova originalhost "{name}"\n  HostName {address}\n'
        for name, address in sorted(peers.hosts.items())
    )
    return f"""{HEADER}\
{names}\
Match localuser nova
  Port {peers.port}
  IdentityFile {KEY}
  IdentitiesOnly yes
  IdentityAgent none
  HostKeyAlias {_ALIAS}
  UserKnownHostsFile {KNOWN}
  StrictHostKeyChecking yes
  UpdateHostKeys no
  ConnectTimeout 15
  ServerAliveInterval 30
"""


# scp uses sftp; Nova runs the other commands to prepare and clean up (nova.virt.libvirt.volume.remotefs). They are
# matched by bare name, so that no program on the disks is run.
_COMMAND = f"""\
#!/bin/sh
{HEADER}\
set -f
set -- $SSH_ORIGINAL_COMMAND
case "$1" in
  {_SFTP}) exec {_SFTP} ;;
  mkdir | rm | touch) exec "$@" ;;
esac
echo "Nova's ssh is for disks of instances; refused: $SSH_ORIGINAL_COMMAND" >&2
exit 1
"""

# The service sees no sockets (access to libvirt's means root) and no passwords, and writes only to instances. Copies
# in progress survive its stop.
_UNIT = f"""{HEADER}\
[Unit]
Description=ssh of Nova, for disks of instances
After=network-online.target {services.COMPUTE}
Wants=network-online.target

[Service]
User=nova
Group=nova
ExecStart=/usr/sbin/sshd -D -e -f {CONFIG}
Restart=always
RestartSec=5
KillMode=process
UMask=0022
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ReadWritePaths=/var/lib/nova/instances
NoExecPaths=/var/lib/nova/instances
TemporaryFileSystem=/etc/nova:ro /run:ro
BindReadOnlyPaths={HOME}
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectControlGroups=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native

[Install]
WantedBy=multi-user.target
"""
