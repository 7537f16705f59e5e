"""Read ssh host keys with ssh itself, and show them to the operator; none is accepted silently."""

from __future__ import annotations

import base64
import hashlib
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...module_utils._base.run import attempt
from ...module_utils._base.text import aligned


@dataclass(frozen=True, slots=True, kw_only=True)
class HostKey:
    """The public key of an sshd."""

    address: str
    port: int
    type: str
    key: str
    known: bool = False  # to the operator's own ssh

    @classmethod
    def of(cls, address: str, port: int, entry: str) -> HostKey:
        """Parse an ``entry`` of access.host_keys."""
        kind, _, key = entry.partition(" ")
        return cls(address=address, port=port, type=kind, key=key)

    @property
    def fingerprint(self) -> str:
        """The fingerprint as printed by ssh-keygen -l."""
        return fingerprint(self.key)

    @property
    def line(self) -> str:
        """Its line in a known_hosts file."""
        return f"{_name(self.address, self.port)} {self.type} {self.key}\n"

    def plain(self) -> dict[str, str]:
        """Return it as plain data for the table."""
        return {
            "address": self.address,
            "type": self.type,
            "fingerprint": self.fingerprint,
            "known": "yes" if self.known else "no",
            "entry": f"{self.type} {self.key}",
        }


def fingerprint(key: str) -> str:
    """Return the SHA256 fingerprint of a public key in base64."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(base64.b64decode(key)).digest()).decode().rstrip("=")


def scan(address: str, port: int, *, timeout: int = 10) -> HostKey | None:
    """Return the key of sshd at ``address``; None when it does not answer.

    ssh asks, not ssh-keyscan, so that jump hosts of the operator's ssh configuration are used. No login is tried.
    """
    with tempfile.TemporaryDirectory(prefix="groundup-") as room:
        found = Path(room) / "known_hosts"
        options = {
            "UserKnownHostsFile": str(found),
            "GlobalKnownHostsFile": "/dev/null",
            "StrictHostKeyChecking": "accept-new",  # only into that temporary file
            "HashKnownHosts": "no",
            "UpdateHostKeys": "no",
            "PreferredAuthentications": "none",
            "BatchMode": "yes",
            "ControlPath": "none",
            "ConnectTimeout": str(timeout),
        }
        words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        attempt(["ssh", *words, "-p", str(port), "--", address, "true"], timeout=2 * timeout + 10)
        lines = found.read_text(encoding="utf-8").splitlines() if found.exists() else []
    for fields in (line.split() for line in lines):
        if len(fields) >= 3:
            known = fields[2] in attempt(["ssh-keygen", "-F", _name(address, port)]).stdout.split()
            return HostKey(address=address, port=port, type=fields[1], key=fields[2], known=known)
    return None


def _name(address: str, port: int) -> str:
    return address if port == 22 else f"[{address}]:{port}"


def record(path: Path, key: HostKey) -> None:
    """Append ``key`` to the known_hosts file ``path`` in one write: the run does so for several hosts in parallel."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(key.line)


def shown(keys: Mapping[str, Mapping[str, str]]) -> str:
    """Return the text that asks the operator to confirm the unknown ``keys`` (`HostKey.plain`), by host."""
    rows: list[tuple[str, ...]] = [("host", "address", "type", "fingerprint", "in ~/.ssh/known_hosts")]
    rows += [(host, *(key[name] for name in ("address", "type", "fingerprint", "known"))) for host, key in keys.items()]
    entries = [f"    {host}: {key['entry']}" for host, key in keys.items()]
    consent = ",".join(key["fingerprint"] for key in keys.values())
    return "\n".join(
        [
            *aligned(rows),
            "",
            "On each host, compare: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub. Then write into the site file:",
            "",
            "access:",
            "  host_keys:",
            *entries,
            "",
            "or confirm them for this site with one run, which keeps them in its state directory:",
            "",
            f"  -e contact_accept_host_keys={consent}",
        ]
    )


def accepted(given: object) -> frozenset[str]:
    """Return the fingerprints that the operator confirmed: a list, or a text with commas."""
    words: Iterable[object] = given.split(",") if isinstance(given, str) else given if isinstance(given, list) else ()
    return frozenset(str(word).strip().rstrip("=") for word in words if str(word).strip())
