"""Run commands in the guest and copy a payload both ways, by ssh to its floating IP."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ...module_utils._base.run import run

_CONNECT = 5  # seconds
_FILE = "/tmp/groundup-payload"  # noqa: S108 - in the guest, which is ours alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """An ssh login to a guest."""

    address: str
    user: str
    directory: Path  # private; holds the key

    @property
    def key(self) -> Path:
        return key_in(self.directory)

    def command(self, words: str) -> list[str]:
        """Return the ssh command that runs ``words`` in the guest's shell."""
        options = {
            "BatchMode": "yes",
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            "StrictHostKeyChecking": "accept-new",  # a new instance has a new host key; accepting ours proves it
            "UserKnownHostsFile": str(self.directory / "known_hosts"),
            "ConnectTimeout": str(_CONNECT),
            "ServerAliveInterval": "10",
            "ServerAliveCountMax": "6",
            "LogLevel": "ERROR",
        }
        pairs = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
        return ["ssh", "-F", "/dev/null", "-i", str(self.key), *pairs, f"{self.user}@{self.address}", words]

    def ask(self, words: str, *, timeout: float = 30.0, stdin: BinaryIO | None = None) -> Said:
        """Run ``words`` in the guest for at most ``timeout`` seconds; return its output."""
        return said_by(self.command(words), timeout=timeout, stdin=stdin)

    def store(self, payload: Path, *, timeout: float) -> tuple[str, str]:
        """Send a file; return the SHA-256 of what arrived, and the fault."""
        with payload.open("rb") as stream:
            said = self.ask(f"cat > {_FILE} && sha256sum {_FILE}", timeout=timeout, stdin=stream)
        return (said.data.decode(errors="replace").partition(" ")[0], said.fault)

    def fetch(self, *, timeout: float) -> tuple[str, str]:
        """Read the file back; return the SHA-256 of what arrived, and the fault."""
        said = self.ask(f"cat {_FILE} && rm {_FILE}", timeout=timeout)
        return hashlib.sha256(said.data).hexdigest(), said.fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Output of a command; ``fault``: why it failed."""

    data: bytes
    fault: str = ""


def said_by(argv: Sequence[str], *, timeout: float, stdin: BinaryIO | None = None) -> Said:
    """Run ``argv``; return a fault instead of raising it."""
    given = subprocess.DEVNULL if stdin is None else stdin
    try:
        done = subprocess.run(argv, stdin=given, capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired as late:
        return Said(data=late.stdout or b"", fault=f"nothing more after {timeout:g} s")
    except FileNotFoundError:
        return Said(data=b"", fault=f"this machine has no {argv[0]}")
    words = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
    return Said(data=done.stdout, fault=(words or [f"exit code {done.returncode}"])[0] if done.returncode else "")


def key_in(directory: Path) -> Path:
    return directory / "id_ed25519"


def make_key(directory: Path, comment: str) -> str:
    """Create a key pair in a private directory; return the public key. Raises GroundupError."""
    key = key_in(directory)
    remedy = "install the OS package openssh-client"
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(key)], remedy=remedy)
    return key.with_suffix(".pub").read_text(encoding="ascii").strip()
