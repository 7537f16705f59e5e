"""Who may log in: the controller's account, its keys, and what sshd allows."""

from __future__ import annotations

import pwd
from collections.abc import Sequence
from pathlib import Path

from . import files
from .changes import Changes
from .commands import run
from .units import Unit

KEYS = Path("/etc/ssh/authorized_keys.d")
SSHD = Path("/etc/ssh/sshd_config.d/20-groundup.conf")
SUDOERS = Path("/etc/sudoers.d/groundup")

# Beside ours, a user's own file still counts: it is the operator's way in on the day the site's key is lost.
SSHD_TEXT = """\
# Written by groundup.cloud. The first value sshd reads counts, so this holds against later files.
AuthorizedKeysFile .ssh/authorized_keys {keys}/%u
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin {root}
AllowAgentForwarding no
X11Forwarding no
MaxAuthTries 4
LoginGraceTime 30
ClientAliveInterval 60
ClientAliveCountMax 3
"""


def account(changes: Changes, user: str) -> None:
    """Make sure that ``user`` exists and may become root without a password, which no key could give."""
    if user == "root":
        files.remove(changes, SUDOERS)
        return
    try:
        pwd.getpwnam(user)
    except KeyError:
        if changes.add(f"user {user}: created"):
            run(["useradd", "--create-home", "--shell", "/bin/bash", "--", user])
    rule = f"# Written by groundup.cloud.\n{user} ALL=(ALL:ALL) NOPASSWD: ALL\n"
    files.place(changes, SUDOERS, rule, mode=0o440, valid=lambda path: run(["visudo", "-c", "-q", "-f", str(path)]))


def keys(changes: Changes, user: str, public_keys: Sequence[str]) -> None:
    """Let exactly ``public_keys`` in as ``user``, beside what the user's own file says."""
    lines = sorted({key.strip() for key in public_keys if key.strip()})
    files.place(changes, KEYS / user, "".join(f"{line}\n" for line in lines))


def sshd(changes: Changes, user: str) -> None:
    """Have sshd take keys only, ours included."""
    unit = Unit(changes, "ssh.service", on_change="reload")
    text = SSHD_TEXT.format(keys=KEYS, root="prohibit-password" if user == "root" else "no")
    unit.place(SSHD, text, valid=lambda path: run(["/usr/sbin/sshd", "-t", "-f", str(path)]))
    unit.refreshed()
