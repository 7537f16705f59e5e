"""Types of checks: the machine and its faults."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .._host.probe import Echo, connects
from .._plan.preflight import Expected
from .links import Link, links

# The first files that a site writes: at the first login, on a seed, on every host.
_OURS = ("/etc/ssh/sshd_config.d/20-groundup.conf", "/etc/nginx/conf.d/groundup.conf", "/etc/groundup/site")


@dataclass(frozen=True)
class PreflightFault:
    """A fault of a host; ``what`` and ``remedy`` are worded the same on every host with that fault."""

    check: str
    severity: str  # error: no host is changed until it is fixed; warning: only shown
    what: str
    where: str  # particular to this host: file, interface, program, value
    remedy: str
    peers: Mapping[str, str] = field(default_factory=dict)  # address at the other end -> what came instead of an answer


def _said(argv: Sequence[str]) -> str | None:
    try:
        done = subprocess.run(argv, check=False, capture_output=True, encoding="utf-8", errors="replace", timeout=30)
    except (FileNotFoundError, PermissionError, subprocess.TimeoutExpired):
        return None
    return done.stdout + done.stderr


@dataclass
class MachineFacts:
    """The host as seen by checks: files below ``root``, and functions for other access."""

    root: Path = Path("/")
    links: Callable[[], dict[str, Link]] = links
    echo: type[Echo] = Echo
    connects: Callable[[str, int], str] = connects
    said: Callable[[Sequence[str]], str | None] = _said  # a program's output; None: no such program
    now: float = field(default_factory=time.time)  # start of the module: checks that wait must not distort it

    def path(self, name: str) -> Path:
        """Return the path of ``name``, an absolute path on the host."""
        return self.root / name.lstrip("/")

    def read(self, name: str) -> str:
        """Return the text of a file; empty when it is missing or unreadable."""
        try:
            return self.path(name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def has(self, name: str) -> bool:
        """Return whether a path exists, also as a broken link: masked and enabled units are links."""
        path = self.path(name)
        return path.is_symlink() or path.exists()

    def names(self, name: str) -> list[str]:
        """Return the sorted names in a directory; empty when it is missing."""
        try:
            return sorted(entry.name for entry in self.path(name).iterdir())
        except OSError:
            return []

    @property
    def contained(self) -> bool:
        """Return whether this is a system container, with the kernel of the machine below."""
        return self.has("/run/systemd/container") or "container=" in self.read("/proc/1/environ")

    @property
    def known(self) -> bool:
        """Return whether one of our runs wrote to this host: then programs on planned ports are the site's own."""
        return any(self.has(path) for path in _OURS)

    def serves(self, wanted: Expected) -> bool:
        """Return whether the host already serves its site: a node has joined, any other host has its configuration."""
        return self.site == wanted.site and (not wanted.node or self.has("/etc/kubernetes/kubelet.conf"))

    @property
    def site(self) -> str:
        """Return the site this host belongs to; empty when none."""
        return (self.read("/etc/groundup/site").split() or [""])[0]

    @property
    def store(self) -> str:
        """Return the identity of the secrets store that the host was set up with; empty before that."""
        return self.read("/etc/groundup/site").partition(" ")[2].strip()
