"""Translate errors of ssh, sudo and Python at a login into faults with a remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from .host_keys import fingerprint

Kind = Literal[
    "host-key-unknown",
    "host-key-changed",
    "denied",
    "unreachable",
    "starting",
    "closed",
    "silent",
    "ssh-broken",
    "sudo-password",
    "sudo-refused",
    "sudo-missing",
    "python-missing",
    "login-failed",
]

# Faults that end a task on the host before its Python starts.
BEFORE_PYTHON: tuple[Kind, ...] = ("sudo-password", "sudo-refused", "sudo-missing", "python-missing")
# Faults that another login may have, too: the first of others decides.
_COMMON: tuple[Kind, ...] = ("denied", "unreachable", "starting", "closed", "silent", "login-failed")
UNREACHED = "see that it runs, its address and access.port in the site file, and packet filters between"  # remedy
_MISSING = r"([Nn]ot found|[Cc]ommand not found|No such file|cannot execute: required file not found)"
_NO_WAY = (
    r"(Connection refused|[Tt]imed out|No route to host|(Network|Host) is (unreachable|down)|No address associated"
    r"|[Nn]ame or service not known|[Nn]ame resolution|nodename nor servname|[Nn]on-recoverable failure)"
)
# What nobody answers; a banner that does not come is of a machine whose kernel does.
_NOBODY = re.compile(
    r"(ssh: connect to (host|address)|open failed: connect failed:).* *([Tt]imed out|No route to host|Host is down)"
)
# The first match counts: specific patterns come first. Without a match, the host answered: `login-failed`.
_SIGNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("host-key-changed", re.compile(r"REMOTE HOST IDENTIFICATION HAS CHANGED|is marked as revoked")),
    (
        "host-key-unknown",
        re.compile(r"Host key verification failed|host key is known for|Host Key checking is enabled"),
    ),
    ("starting", re.compile(r"System is booting up")),
    (
        "sudo-missing",
        re.compile(rf"(^|[\s/])sudo: {_MISSING}|env: \W?sudo\W?: {_MISSING}|(not found|[Uu]nknown command): '?sudo\b"),
    ),
    (
        "sudo-refused",
        re.compile(
            r"not in the sudoers file|not allowed to (run sudo|execute)|may not run sudo|afraid I can't do that"
        ),
    ),
    (
        "sudo-password",
        re.compile(
            r"(Missing|Incorrect) su(do)? password|sudo: a (terminal|password) is required|escalation prompt"
            r"|^\[sudo[^]]*\] password for |sudo(-rs)?: (no tty present and no askpass|no password was provided"
            r"|interactive authentication is required)"
            r"|sudo: (Authentication failed, try again|(Maximum )?\d+ incorrect)"
            r"|Sorry, (try again|a password is required)"
        ),
    ),
    (
        "python-missing",
        re.compile(rf"python3\W?: {_MISSING}|interpreter .* was not found|(not found|[Uu]nknown command): \S*python3"),
    ),
    # Before `denied` and `unreachable`: what the controller's own kernel or ssh refuses is no answer of a host.
    (
        "ssh-broken",
        re.compile(
            r"too long for Unix domain socket|onfiguration option|Bad owner or permissions|command-line line|b?'ssh'"
            r"|unix_listener|muxserver_listen|write to ControlPath|execute ssh command|sshpass|percent_expand"
            r"|ssh: connect to .* port \d+: (Permission denied|Operation not permitted|Invalid|Cannot)"
        ),
    ),
    (
        "denied",
        re.compile(
            r"Permission denied( \(|, please)|Too many authentication failures|No supported authentication methods"
            r"|no more authentication methods|^Invalid/incorrect password"
        ),
    ),
    # Only ssh's own lines, or those of a jump host: sudo complains of name resolution, too.
    (
        "unreachable",
        re.compile(
            rf"ssh: (connect to host|connect to address|Could not resolve hostname) .*{_NO_WAY}"
            rf"|(open failed: connect failed|\b(nc|netcat|ncat|Ncat|socat)\b.*): .*{_NO_WAY}"
            r"|^(ssh: )?Connection timed out|timed out during banner|Timeout, server \S+ not responding"
            r"|Connection to \S+( port \d+)? timed out"
        ),
    ),
    (
        "closed",
        re.compile(r"^\W*((kex|ssh)_exchange_identification:|banner exchange:|Connection (closed|reset) by)"),
    ),
    ("silent", re.compile(r"^\s*$")),
)
_FAULTS: dict[Kind, tuple[str, str]] = {  # fault, remedy
    "host-key-unknown": (
        "shows an ssh key that nobody has confirmed",
        "compare it on the host, then write it into access.host_keys of the site file",
    ),
    "host-key-changed": ("shows another ssh key than the known one", "find out why before you log in there"),
    "denied": (
        "refuses every login",
        "name one that works: ssh-add your key, or --private-key FILE, -u ACCOUNT, or -k for a password",
    ),
    "unreachable": (
        "cannot be reached by ssh",
        UNREACHED,
    ),
    "starting": (
        "is still starting, and lets no account but root in",
        "run this again when it has started; systemctl list-jobs there names what it waits for",
    ),
    "closed": (
        "answers, but ends the connection before a login",
        "wait a minute: sshd does so after failed logins (PerSourcePenalties, fail2ban) and when too many log in "
        "(MaxStartups); journalctl -u ssh there names the reason",
    ),
    "silent": (
        "cannot be logged in to, and ssh does not say why",
        "take LogLevel QUIET out of your ssh configuration, and try: {command}",
    ),
    "ssh-broken": (
        "was not asked: ssh fails on this machine",
        "correct ~/.ssh/config and this machine's own packet filter; a path too long for a socket: set "
        "ANSIBLE_SSH_CONTROL_PATH_DIR to a short directory",
    ),
    "sudo-password": (
        "has a sudo that asks for a password",
        "run with -K, which asks you for it once; was it asked, it was the wrong one",
    ),
    "sudo-refused": (
        "does not let the account use sudo",
        "adduser ACCOUNT sudo there, or log in as root: -u root",
    ),
    "sudo-missing": ("has no sudo", "apt-get install sudo there"),
    "python-missing": ("has no /usr/bin/python3", "apt-get install python3 there"),
    "login-failed": (
        "answers, but login or sudo fails",
        "put right what its own words name, then try: {command}; journalctl there says more (-t sshd, -t sudo)",
    ),
}
_SENT = re.compile(r"sent by the remote host is\s+(SHA256:[A-Za-z0-9+/]+)")
_OFFENDING = re.compile(r"Offending \S+ key in (.+):(\d+)")
# Lines of ssh that do not tell the reason.
_NOISE = re.compile(
    r"^(Warning: Permanently added|debug\d:|\*\* |(Shared c|C)onnection to \S+ closed\.?$|Module result deserializ"
    r"|sudo: unable to resolve host)|^@+$|^\s*$"
)
_PREFACE = re.compile(
    r"^(Task failed: )?(Failed to connect to the host via ssh: ?|Data could not be sent to remote host \"[^\"]*\"\. "
    r"Make sure this host can be reached over ssh: ?)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactFault:
    """Why a host cannot be used: a row of the table."""

    kind: Kind
    what: str
    where: str
    remedy: str

    def plain(self) -> dict[str, str]:
        return asdict(self)


def kind_of(said: str) -> Kind:
    """Return the kind of fault in ``said``, output of ssh, sudo or the host's shell."""
    told = words(said)
    return next((kind for kind, sign in _SIGNS if sign.search(told)), "login-failed")


def presence(said: str) -> Literal["silent", "answers", "unknown"]:
    """Return whether a machine answers, by an error of ssh: silent only if neither its sshd nor its kernel does."""
    if "Connection refused" in said:
        return "answers"
    if _NOBODY.search(words(said)):
        return "silent"
    return "unknown" if kind_of(said) in ("ssh-broken", "silent", "unreachable") else "answers"


def words(said: str) -> str:
    """Return ``said`` on one line, without noise."""
    lines = [line.strip() for line in _PREFACE.sub("", said.strip()).splitlines() if not _NOISE.match(line)]
    return " ".join(lines)


def fault_of(host: str, address: str, tried: Mapping[str, str], *, command: str = "ssh") -> ContactFault:
    """Return the fault of ``host`` at ``address``; ``tried``: the error of each login.

    The login that came furthest decides, else the last. ``command``: what an operator may type to see it.
    """
    kinds = [kind_of(said) for said in tried.values()]
    kind = next(
        (kind for kind in kinds if kind not in _COMMON), "login-failed" if "login-failed" in kinds else kinds[-1]
    )
    where = f"{address}; " + "; ".join(f"{login}: {words(said)}" for login, said in tried.items())
    what, remedy = _FAULTS[kind]
    remedy = remedy.format(command=command)
    if kind == "host-key-changed" and (pair := changed("".join(tried.values()))):
        shows, known, file = pair
        where, remedy = f"{address} shows {shows}; {file} has {known}", _renewed(host, file)
    return ContactFault(kind=kind, what=f"{host} {what}", where=where, remedy=remedy)


def changed(said: str) -> tuple[str, str, str] | None:
    """Return the host's new fingerprint, the known one, and its file:line, if ``said`` names them."""
    sent, offending = _SENT.search(said), _OFFENDING.search(said)
    if not sent or not offending:
        return None
    path, number = Path(offending[1]), int(offending[2])
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    fields = lines[number - 1].split() if number <= len(lines) else []
    return sent[1], fingerprint(fields[2]) if len(fields) >= 3 else "the known one", f"{path}:{number}"


def _renewed(host: str, file: str) -> str:
    path, _, number = file.rpartition(":")
    if Path(path).name == "host_keys":
        return f"if you installed it anew, write its new key into access.host_keys.{host} of the site file"
    return f"if you installed it anew, remove line {number} of {path} and run this again, which shows the new key"
