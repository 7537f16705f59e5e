"""ssh between hypervisors, for Nova alone: it copies disks with it when instances are moved while they are stopped.

An sshd of its own, as user nova, on a port of its own: the host's sshd knows nothing of it, and whoever holds the key
gets to the files of instances and nowhere else. The key is one for all hypervisors of a site, as in Nova itself each
of them may move any instance to any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .._base import files
from .._base.changes import Changes
from .._base.files import HEADER
from .._base.run import run
from .._host.units import Unit
from . import accounts, services

NAME = "nova-ssh.service"
HOME = Path("/etc/nova/ssh")
KEY, CONFIG, COMMAND = HOME / "key", HOME / "sshd_config", HOME / "command"
KNOWN, AUTHORIZED = HOME / "known_hosts", HOME / "authorized_keys"
CLIENT = Path("/etc/ssh/ssh_config.d/groundup-nova.conf")
_ALIAS = "hypervisors"  # under which all of them show the same key
_SFTP = "/usr/lib/openssh/sftp-server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peers:
    """Who speaks to whom, and by what key."""

    address: str  # of this host
    port: int
    hosts: Mapping[str, str]  # name -> address, of all hypervisors
    public_key: str


def place(changes: Changes, peers: Peers, *, key: str) -> Unit:
    """Place what Nova's sshd and its clients run by; return the unit, which the caller starts. Raises GroundupError."""
    unit = Unit(changes, NAME)
    unit.place(KEY, key, mode=0o640, group=accounts.group_id("nova"), secret=True)
    unit.place(COMMAND, _COMMAND, mode=0o755)
    unit.place(CONFIG, _sshd(peers), valid=_sshd_takes)
    # Read at each login: a new hypervisor restarts nothing here.
    files.place(changes, AUTHORIZED, _authorized(peers))
    files.place(changes, KNOWN, f"{_ALIAS} {peers.public_key}\n")
    files.place(changes, CLIENT, _client(peers))
    unit.place(services.UNITS / NAME, _UNIT)
    return unit


def _sshd_takes(path: Path) -> None:
    # As the service does: root would refuse a key of its own that others may read.
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
    """Return the client's options. Nova calls a host by its address, and by its name for an image that is gone."""
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


# scp is sftp; the others are what Nova prepares and tidies up with (nova.virt.libvirt.volume.remotefs). By their bare
# names: what somebody wrote to the disk is not run.
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

# It sees no socket (libvirt's makes root of who opens it) and no password, and writes to instances only. Its end leaves
# copies that are under way alone.
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
