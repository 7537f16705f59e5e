"""A machine that is installed already, as far as ssh can tell: Debian's sshd, sudo and Python on a loopback address.

Its root is an overlay of plain Debian in a mount namespace, so nothing of it is left when its process ends. sshd starts
once a connection: a changed configuration counts for the next one, as after a reload by systemd, which is not there.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from pathlib import Path

USER = "ops"
PASSWORD = "as-told-by-phone"  # of a machine that lives for a test
_ENTER = """
image=$1 room=$2 address=$3 port=$4
mount -t tmpfs tmpfs "$room"; mkdir "$room/upper" "$room/work" "$room/root"
mount -t overlay overlay -o "lowerdir=$image,upperdir=$room/upper,workdir=$room/work" "$room/root"
mount -t proc proc "$room/root/proc"; mount --rbind /dev "$room/root/dev"; mount -t tmpfs tmpfs "$room/root/run"
mkdir -p "$room/root/run/sshd"
printf '#!/bin/sh\\nexit 0\\n' > "$room/root/usr/local/bin/systemctl"; chmod 755 "$room/root/usr/local/bin/systemctl"
chroot "$room/root" sh -euc '
  rm -f /etc/ssh/ssh_host_*; ssh-keygen -q -t ed25519 -N "" -f /etc/ssh/ssh_host_ed25519_key
  useradd --create-home --shell /bin/bash --groups sudo '"$USER"'; echo "'"$USER:$PASSWORD"'" | chpasswd
'
exec chroot "$room/root" python3 -c "$LISTEN" "$address" "$port"
"""
_LISTEN = """
import socket, subprocess, sys
server = socket.create_server((sys.argv[1], int(sys.argv[2])))
while True:
    peer, _ = server.accept()
    subprocess.Popen(["/usr/sbin/sshd", "-i", "-E", "/var/log/sshd"], stdin=peer, stdout=peer, stderr=2)
    peer.close()
"""


class Machine:
    """One machine."""

    def __init__(self, address: str, port: int, *, image: Path, room: Path) -> None:
        """Start it and wait until it answers."""
        self.address, self.port = address, port
        room.mkdir()
        self._process = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--propagation=private", "--",
             "sh", "-euc", _ENTER, "sh", image, room, address, str(port)],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "USER": USER, "PASSWORD": PASSWORD, "LISTEN": _LISTEN},
        )  # fmt: skip
        self._room = room
        while not self._answers():
            if self._process.poll() is not None:
                raise RuntimeError("the machine did not start")
            time.sleep(0.05)

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((self.address, self.port)) == 0

    @property
    def root(self) -> Path:
        """Its root directory, seen from here."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        return Path(f"/proc/{children[0]}/root")

    @property
    def host_key(self) -> str:
        """What access.host_keys says of it."""
        return " ".join((self.root / "etc/ssh/ssh_host_ed25519_key.pub").read_text().split()[:2])

    def run(self, script: str) -> str:
        """Run a script on it, as at its console."""
        child = self.root.parent.name
        enter = ["nsenter", "--target", child, "--mount", "--pid", "--root", "--wd=/", "--", "sh", "-euc", script]
        return subprocess.run(enter, check=True, capture_output=True, text=True).stdout

    def admit(self, public_key: str) -> None:
        """Let whoever has this key in."""
        home = f"/home/{USER}"
        self.run(f"mkdir -p -m 700 {home}/.ssh; echo '{public_key}' >> {home}/.ssh/authorized_keys")
        self.run(f"chown -R {USER} {home}/.ssh")

    def end(self) -> None:
        """End it and everything that runs on it."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
