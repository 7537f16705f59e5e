"""Set a host's name, /etc/hosts and resolver."""

from __future__ import annotations

import secrets
import socket
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from .._base import files
from .._base.changes import Changes
from .units import Unit

HOSTNAME = Path("/etc/hostname")
HOSTS = Path("/etc/hosts")
RESOLV = Path("/etc/resolv.conf")
DNS_PORT = 53
TRIES = 3  # a datagram may be lost, and a resolver that forwards may be slow once
REFUSED = 5  # RFC 1035
RESOLVED = Path("/etc/systemd/resolved.conf.d/groundup.conf")
BEGIN = "# BEGIN groundup.cloud"
END = "# END groundup.cloud"


def own_name(changes: Changes, name: str) -> None:
    """Set the host name to ``name``, now and at boot."""
    files.place(changes, HOSTNAME, f"{name}\n")
    if socket.gethostname() != name and changes.add(f"set the host name {name}"):
        socket.sethostname(name)


def known_names(changes: Changes, *, name: str, fqdn: str, address: str, names: Mapping[str, str]) -> None:
    """Write the host's own name and ``names`` (name to address) into /etc/hosts; keep other names.

    Lines outside our block lose these names, whatever their address: the first line with a name decides.
    """
    own = {name, fqdn}
    others = sorted((known, where) for known, where in names.items() if known not in own)
    lines = [f"{address} {fqdn} {name}", *(f"{where} {known}" for known, where in others)]
    text = files.read(HOSTS) or "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
    ours = {known.lower() for known in own.union(names)} - {"localhost"}
    kept = [left for line in _outside_block(text) if (left := _without(line, ours)) is not None]
    files.place(changes, HOSTS, with_block("\n".join(kept), lines))


def _without(line: str, ours: set[str]) -> str | None:
    """Return ``line`` of a hosts file without the names ``ours``; None when it has no other name."""
    entry, sign, comment = line.partition("#")
    address, *known = entry.split() or [""]
    left = [name for name in known if name.lower() not in ours]
    if left == known:
        return line
    return f"{address} {' '.join(left)}" + (f" {sign}{comment}" if sign else "") if left else None


def with_block(text: str, lines: Iterable[str]) -> str:
    """Return ``text`` with our block, at its end, replaced by ``lines``; other lines are kept."""
    kept = _outside_block(text)
    while kept and not kept[-1].strip():
        kept.pop()
    return "".join(f"{line}\n" for line in [*kept, BEGIN, *lines, END])


def _outside_block(text: str) -> list[str]:
    """Return the lines of ``text`` that are not in our block."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines():
        inside = (inside or line == BEGIN) and line != END
        if not inside and line != END:
            kept.append(line)
    return kept


def resolver(changes: Changes, servers: Sequence[str], *, domain: str) -> None:
    """Configure ``servers`` as the resolvers; without any, keep the present ones, but create a file for the kubelet."""
    if RESOLV.is_symlink() and "systemd/resolve" in str(RESOLV.readlink()):
        unit = Unit(changes, "systemd-resolved.service")
        unit.generate(RESOLVED, f"[Resolve]\nDNS={' '.join(servers)}\nDomains={domain}\n" if servers else "")
        unit.refreshed()
    elif servers or not RESOLV.exists():
        lines = (f"search {domain}\n", *(f"nameserver {server}\n" for server in servers))
        files.generate(changes, RESOLV, "".join(lines))


def unanswering(servers: Sequence[str], *, domain: str, timeout: float = 2) -> list[str]:
    """Return a line for each of ``servers`` that does not answer, or refuses, a query for ``domain``.

    Every other answer is accepted: a server that cannot resolve the domain (SERVFAIL without an uplink, NXDOMAIN)
    works, and hosts have the site's names in /etc/hosts.
    """
    return [f"resolver {server}: {fault}" for server in servers if (fault := _asked(server, domain, timeout))]


def _asked(server: str, domain: str, timeout: float) -> str | None:
    """Query the SOA record of ``domain`` (RFC 1035); return the fault."""
    number = secrets.randbelow(1 << 16)
    labels = b"".join(bytes([len(label)]) + label.encode() for label in domain.split("."))
    question = struct.pack(">6H", number, 0x0100, 1, 0, 0, 0) + labels + struct.pack(">B2H", 0, 6, 1)
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.settimeout(timeout)
            asking.connect((server, DNS_PORT))
            return _answered(asking, question)
    except OSError as error:
        return error.strerror or "no answer"


def _answered(asking: socket.socket, question: bytes) -> str | None:
    """Return the fault of the answer; an answer to an earlier try counts. Raises OSError when there is none."""
    for left in reversed(range(TRIES)):
        try:
            asking.send(question)
            answer = asking.recv(4096)
        except OSError:
            if not left:
                raise
            continue
        if len(answer) >= 12 and answer[:2] == question[:2]:
            return "refuses to answer" if answer[3] & 0x0F == REFUSED else None
    return "answered something else"
