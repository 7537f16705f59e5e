"""What a lab's things on this machine are called.

Everything a site owns is found again from the site's name alone, by prefix, so that a lab can be cleared when its
records are gone, and two sites never touch each other's things.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

RUN = Path("/run/groundup")  # of all labs of this machine; gone when the last lab is
CGROUP = "groundup"


def link_prefix(site: str) -> str:
    """Return what the name of each network link of ``site`` begins with: 9 characters of the kernel's 15."""
    return f"gu{_digest(site)}-"


def link_name(site: str, *what: str) -> str:
    """Return the link name of a bridge (``network``) or of a host's interface (``host``, ``interface``)."""
    return link_prefix(site) + _digest("/".join(what))


def link_alias(site: str, *what: str) -> str:
    """Return what `ip link` shows beside the name, for people."""
    return "/".join(("groundup", site, *what))


def mac(site: str, *what: str) -> str:
    """Return a locally administered unicast address that is always the same for the same thing."""
    digest = hashlib.sha256("/".join((site, *what)).encode()).digest()
    return "02:" + ":".join(f"{byte:02x}" for byte in digest[:5])


def id_prefix(site: str) -> str:
    """Return what the runc id and the network namespace of each host of ``site`` begin with."""
    return f"groundup.{site}."


class Lab:
    """The places of one site on this machine."""

    def __init__(self, *, site: str, root: Path) -> None:
        """Name them; ``root`` holds volumes and root file systems, below the site's state directory."""
        self.site = site
        self.root = root
        self.run = RUN / site  # runtime records; worthless after the machine restarts
        self.cgroup = f"/{CGROUP}/{site}"  # path of the site's control group in every hierarchy

    @property
    def runc(self) -> Path:
        """The state directory given to runc."""
        return self.run / "runc"

    def id(self, host: str) -> str:
        """Name of the container and of the network namespace of ``host``."""
        return id_prefix(self.site) + host

    def home(self, host: str) -> Path:
        """Everything of ``host`` that outlives its processes."""
        return self.root / host

    def console(self, host: str) -> Path:
        """What the first process of ``host`` prints."""
        return self.home(host) / "console.log"

    def rootfs(self, host: str) -> Path:
        """Where the root file system of ``host`` is mounted while it runs."""
        return self.home(host) / "rootfs"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:6]
