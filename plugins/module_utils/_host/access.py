"""Configure logins: the controller's account, its SSH keys, sshd."""

from __future__ import annotations

import pwd
import re
from collections.abc import Sequence
from pathlib import Path

from .._base import files
from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.run import run
from .units import Unit

KEYS = Path("/etc/ssh/authorized_keys.d")
SSHD = Path("/etc/ssh/sshd_config.d/20-groundup.conf")
SUDOERS = Path("/etc/sudoers.d/groundup")
FIRST_RULE = "{0} ALL=(ALL) NOPASSWD: ALL\n"  # in a file of that name, as first boots once wrote it
FORMER = re.compile(r"^(\S+) ALL=", re.MULTILINE)

# A user's own authorized_keys stays valid: it is the operator's way in when the site's key is lost. On a machine that
# the seed installed `taken_over` has removed those of the site's account.
SSHD_TEXT = """\
# Written by groundup.cloud. The first value sshd reads counts, so this holds against later files.
AuthorizedKeysFile .ssh/authorized_keys {keys}/%u
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin {root}
PermitEmptyPasswords no
PermitUserEnvironment no
HostbasedAuthentication no
IgnoreRhosts yes
LogLevel VERBOSE
AllowAgentForwarding no
X11Forwarding no
MaxAuthTries 4
MaxStartups 10:30:60
LoginGraceTime 30
ClientAliveInterval 60
ClientAliveCountMax 3
"""


# First contact: add to sshd's settings only, so that no login breaks before the site's key is known to work.
FIRST_TEXT = """\
# Written by groundup.cloud.
AuthorizedKeysFile {files}
"""
FIRST_ROOT = "PermitRootLogin prohibit-password\n"  # where root may not log in at all yet

# The effective settings that `sshd -T` must print, whichever file sets them.
EFFECTIVE = {
    "passwordauthentication": "no",
    "kbdinteractiveauthentication": "no",
    "permitemptypasswords": "no",
    "permituserenvironment": "no",
    "hostbasedauthentication": "no",
    "x11forwarding": "no",
}


def account(changes: Changes, user: str) -> None:
    """Ensure that ``user`` exists and has sudo without a password: the controller knows only its key.

    The site's former account loses its keys first, because the sudo rule is the only record of its name.
    """
    former = FORMER.search(files.read(SUDOERS) or "")
    if former and former.group(1) != user:
        files.remove(changes, KEYS / former.group(1))
    if user == "root":
        files.remove(changes, SUDOERS)
        return
    try:
        pwd.getpwnam(user)
    except KeyError:
        if changes.add(f"create user {user}"):
            run(["useradd", "--create-home", "--shell", "/bin/bash", "--", user])
    rule = f"{files.HEADER}{user} ALL=(ALL:ALL) NOPASSWD: ALL\n"
    files.place(changes, SUDOERS, rule, mode=0o440, valid=lambda path: run(["visudo", "-c", "-q", "-f", str(path)]))


def keys(changes: Changes, user: str, public_keys: Sequence[str]) -> None:
    """Write ``public_keys`` as the site's keys of ``user``; the user's own authorized_keys stays untouched."""
    lines = sorted({key.strip() for key in public_keys if key.strip()})
    files.place(changes, KEYS / user, "".join(f"{line}\n" for line in lines))


def taken_over(changes: Changes, user: str) -> None:
    """Remove keys and sudo rules that a first boot wrote beside ours: on a machine that the seed installed.

    Call after `keys` and `sshd`, which let in whoever may. A former account's rule goes last: it records its name.
    """
    first = [path for path in sorted(SUDOERS.parent.glob("*")) if files.read(path) == FIRST_RULE.format(path.name)]
    for name in sorted({user, "root", *(path.name for path in first)}):
        try:
            home = Path(pwd.getpwnam(name).pw_dir)
        except KeyError:
            continue
        files.remove(changes, home / ".ssh/authorized_keys")
        if name != user:
            files.remove(changes, KEYS / name)
    for path in first:
        files.remove(changes, path)


def sshd(changes: Changes, user: str) -> None:
    """Configure sshd: logins by key only, the site's keys included."""
    unit = Unit(changes, "ssh.service", on_change="reload")
    text = SSHD_TEXT.format(keys=KEYS, root="prohibit-password" if user == "root" else "no")
    unit.place(SSHD, text, valid=lambda path: run(["/usr/sbin/sshd", "-t", "-f", str(path)]))
    unit.refreshed()


def opened(changes: Changes, user: str) -> None:
    """Make sshd read the site's keys, and allow ``user`` to log in with one. Raises GroundupError."""
    found = _settings()
    closed = user == "root" and found.get("permitrootlogin") == "no"
    read = [name for name in found.get("authorizedkeysfile", "").split() if name != "none"]
    unit = Unit(changes, "ssh.service", on_change="reload")
    if closed or f"{KEYS}/%u" not in read:
        # Ours first, then all files that sshd reads now: the operator's key may be in any of them.
        text = FIRST_TEXT.format(files=" ".join(dict.fromkeys((f"{KEYS}/%u", *read)))) + (FIRST_ROOT if closed else "")
        unit.place(SSHD, text, valid=lambda path: run(["/usr/sbin/sshd", "-t", "-f", str(path)]))
    unit.refreshed()  # also when an earlier run was killed before this
    if not changes.check and f"{KEYS}/%u" not in _settings().get("authorizedkeysfile", ""):
        raise GroundupError(
            f"sshd does not read {SSHD}",
            where="/etc/ssh/sshd_config",
            why="it says where the site's keys are; an earlier AuthorizedKeysFile wins, or nothing includes it",
            remedy=f"write 'Include {SSHD.parent}/*.conf' as the first line of /etc/ssh/sshd_config there",
        )


def _settings() -> dict[str, str]:
    """Return sshd's effective settings, from `sshd -T`."""
    lines = (line.split(None, 1) for line in run(["/usr/sbin/sshd", "-T"]).splitlines())
    return {words[0]: words[1] for words in lines if len(words) == 2}


def sshd_faults(user: str) -> list[str]:
    """Return a line for each effective sshd setting that is too permissive."""
    found = _settings()
    root = {"without-password", "prohibit-password", "no"} if user == "root" else {"no"}
    faults = [
        f"sshd: {name} is {found.get(name)}, not {value}"
        for name, value in EFFECTIVE.items()
        if found.get(name) != value
    ]
    if found.get("permitrootlogin") not in root:
        faults.append(f"sshd: permitrootlogin is {found.get('permitrootlogin')}, not {' or '.join(sorted(root))}")
    return faults
