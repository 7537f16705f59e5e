"""Programs for which a site's names resolve on this machine, whose /etc/hosts stays as it is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

# Mount the prepared file over /etc/hosts, then exec the command. $1 is the file, the rest is the command. In a shell
# that was entered once, /etc/hosts is a removed file, over which nothing can be mounted: that one goes, here alone.
_MOUNT = 'umount /etc/hosts 2>/dev/null; mount --bind "$1" /etc/hosts'
_ENTER = f'{_MOUNT} && shift && exec "$@"'
_ENTER_ONCE = f'{_MOUNT} && rm -f "$1" && shift && exec "$@"'


def hosts_text(machine: str, names: Mapping[str, str], site: str) -> str:
    """Return ``machine`` (the content of /etc/hosts) with ``names`` (name -> address) of ``site`` appended."""
    lines = [f"{address} {name}" for name, address in sorted(names.items())]
    return f"{machine.rstrip()}\n\n# site {site}\n" + "\n".join(lines) + "\n"


def entering(hosts: Path, *, once: bool = False) -> list[str]:
    """Return the command that runs the command after it in a mount namespace where /etc/hosts is ``hosts``.

    ``once``: the file is removed then. Without root, the namespace is a user's own.
    """
    own = [] if os.geteuid() == 0 else ["--map-root-user"]
    script = _ENTER_ONCE if once else _ENTER
    return ["unshare", *own, "--mount", "--propagation", "private", "sh", "-c", script, "site-names", str(hosts)]
