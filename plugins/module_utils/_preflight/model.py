"""What a check is given, and what it says."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .links import Link, links
from .probe import Echo, connects

# What a site writes first: as it logs in, on a seed, on every host.
_OURS = ("/etc/ssh/sshd_config.d/20-groundup.conf", "/etc/nginx/conf.d/groundup.conf", "/etc/groundup/site")


@dataclass(frozen=True)
class Fault:
    """What keeps a host from its place; ``what`` and ``remedy`` are the same words on every host that has it."""

    check: str
    severity: str  # error: nothing is changed anywhere while it stands; warning: shown
    what: str
    where: str  # what is this host's own: file, interface, program, value
    remedy: str
    peers: Mapping[str, str] = field(default_factory=dict)  # addresses at the other end, and what came instead


@dataclass(frozen=True)
class Wanted:
    """What the plan says of a host: the module's options."""

    name: str
    site: str
    store: str | None = None  # identity of the secrets store; empty: the controller has none yet
    user: str = "root"
    interfaces: Sequence[Mapping[str, Any]] = ()
    unused_networks: Sequence[str] = ()
    neighbours: Mapping[str, Sequence[str]] = field(default_factory=dict)
    control: Mapping[str, Sequence[str]] = field(default_factory=dict)
    reaches: Mapping[str, Sequence[int]] = field(default_factory=dict)
    hardware: Mapping[str, Any] = field(default_factory=dict)
    hardware_required: bool = False
    space: Mapping[str, int] = field(default_factory=dict)
    listens: Mapping[str, Sequence[str]] = field(default_factory=dict)
    kernel_modules: Sequence[str] = ()
    systems: Sequence[Mapping[str, str]] = ()
    releases: Sequence[str] = ()
    node: bool = False
    swap: bool = False
    cgroup_v1: bool = False
    eviction: bool = False
    controller_time: float | None = None


def _said(argv: Sequence[str]) -> str | None:
    try:
        done = subprocess.run(argv, check=False, capture_output=True, encoding="utf-8", errors="replace", timeout=30)
    except (FileNotFoundError, PermissionError, subprocess.TimeoutExpired):
        return None
    return done.stdout + done.stderr


@dataclass
class Machine:
    """The host as checks see it: files below ``root``, and the few things that are no files."""

    root: Path = Path("/")
    links: Callable[[], dict[str, Link]] = links
    echo: type[Echo] = Echo
    connects: Callable[[str, int], str] = connects
    said: Callable[[Sequence[str]], str | None] = _said  # what a program prints; None: there is none
    now: float = field(default_factory=time.time)  # when the module began: other checks wait for answers

    def path(self, name: str) -> Path:
        """Return the path of ``name``, which is absolute on the host."""
        return self.root / name.lstrip("/")

    def read(self, name: str) -> str:
        """Return the text of a file, nothing when it is missing or nobody may read it."""
        try:
            return self.path(name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def has(self, name: str) -> bool:
        """Say whether a path exists, as a broken link too: units that are masked or enabled are links."""
        path = self.path(name)
        return path.is_symlink() or path.exists()

    def names(self, name: str) -> list[str]:
        """Return what is in a directory, in order; nothing when it is missing."""
        try:
            return sorted(entry.name for entry in self.path(name).iterdir())
        except OSError:
            return []

    @property
    def contained(self) -> bool:
        """Say whether this is a system container: its kernel is the machine's below."""
        return self.has("/run/systemd/container") or "container=" in self.read("/proc/1/environ")

    @property
    def known(self) -> bool:
        """Say whether a run of ours wrote to this host before: what serves there is its own then."""
        return any(self.has(path) for path in _OURS)

    def serves(self, wanted: Wanted) -> bool:
        """Say whether the host is at work in its site: a node has joined, any other has its configuration."""
        return self.site == wanted.site and (not wanted.node or self.has("/etc/kubernetes/kubelet.conf"))

    @property
    def site(self) -> str:
        """Return the site this host belongs to, nothing when it belongs to none yet."""
        return (self.read("/etc/groundup/site").split() or [""])[0]

    @property
    def store(self) -> str:
        """Return the identity of the secrets store this host was set up with, nothing before that."""
        return self.read("/etc/groundup/site").partition(" ")[2].strip()
