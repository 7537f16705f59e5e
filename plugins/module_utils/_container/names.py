"""Name a lab's objects on this machine.

All objects of a site are found by a prefix derived from its name alone, so that a lab can be removed without its
records, and sites never touch each other's objects.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

RUN = Path("/run/groundup")  # of all labs of this machine; gone when the last lab is
CGROUP = "groundup"


def link_prefix(site: str) -> str:
    """Return the prefix of the site's network links: 9 of the kernel's 15 characters."""
    return f"gu{_digest(site)}-"


def link_name(site: str, *what: str) -> str:
    """Return the link name of a bridge (``network``) or of a host's interface (``host``, ``interface``)."""
    return link_prefix(site) + _digest("/".join(what))


def link_alias(site: str, *what: str) -> str:
    """Return the readable alias that `ip link` shows beside the name."""
    return "/".join(("groundup", site, *what))


def mac(site: str, *what: str) -> str:
    """Return a locally administered unicast MAC address, always the same for the same object."""
    digest = hashlib.sha256("/".join((site, *what)).encode()).digest()
    return "02:" + ":".join(f"{byte:02x}" for byte in digest[:5])


def id_prefix(site: str) -> str:
    """Return the prefix of the runc ids and network namespaces of the site's hosts."""
    return f"groundup.{site}."


class Lab:
    """The paths of a site on this machine."""

    def __init__(self, *, site: str, root: Path) -> None:
        """Set the paths; ``root`` holds volumes and root file systems, below the site's state directory."""
        self.site = site
        self.root = root
        self.run = RUN / site  # runtime records; worthless after the machine restarts
        self.cgroup = f"/{CGROUP}/{site}"  # path of the site's control group in every hierarchy

    @property
    def runc(self) -> Path:
        """The state directory given to runc."""
        return self.run / "runc"

    def id(self, host: str) -> str:
        """Return the name of the container and network namespace of ``host``."""
        return id_prefix(self.site) + host

    def home(self, host: str) -> Path:
        """Return the directory of all persistent data of ``host``."""
        return self.root / host

    def console(self, host: str) -> Path:
        """Return the file with the output of PID 1 of ``host``."""
        return self.home(host) / "console.log"

    def rootfs(self, host: str) -> Path:
        """Return the mount point of the root file system of ``host``."""
        return self.home(host) / "rootfs"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:6]
