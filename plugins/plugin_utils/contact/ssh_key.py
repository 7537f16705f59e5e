"""The ssh key with which the control node reaches a site's hosts, and the host keys that the site file gives."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...module_utils._base import files
from ...module_utils._base.changes import Changes
from ...module_utils._base.run import run
from .logins import site_key

if TYPE_CHECKING:
    from ..plan import Plan


def converge(changes: Changes, plan: Plan) -> dict[str, Any]:
    """Create the site's key if there is none, write its hosts' keys, and return the step's result."""
    directory = site_key(plan.site).parent
    if not directory.is_dir() and changes.add(f"make {directory}"):
        directory.mkdir(mode=0o700, parents=True)
    key_pair(changes, site_key(plan.site), comment=f"groundup@{plan.site}")
    # Not known_hosts, which the metal layer fills.
    lines = [f"{_address(plan, host.address)} {host.host_key}\n" for host in plan.hosts.values() if host.host_key]
    files.place(
        changes, directory / "host_keys", "# Written from access.host_keys of the site file.\n" + "".join(lines)
    )
    return changes.result()


def key_pair(changes: Changes, path: Path, *, comment: str) -> None:
    """Create the key ``path`` if there is none, and write its public key to ``path``.pub. Raises GroundupError."""
    public = path.with_name(f"{path.name}.pub")
    if not path.exists():
        if changes.add(f"make {path}"):
            with tempfile.TemporaryDirectory(dir=path.parent) as room:
                made = Path(room) / path.name
                run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(made)])
                made.with_name(public.name).replace(public)
                made.replace(path)
        return
    if path.stat().st_mode & 0o077 and changes.add(f"set mode 600 of {path}"):
        path.chmod(0o600)
    if changes.check and path.stat().st_mode & 0o077:
        return  # ssh-keygen refuses a key that others can read
    found = run(
        ["ssh-keygen", "-y", "-P", "", "-f", str(path)],
        why="the control node reaches the site's hosts with this key",
        remedy=f"restore {path} from your backup; or remove it, and put the new {public.name} on every host",
    ).split()
    if (files.read(public) or "").split()[:2] != found[:2]:
        files.place(changes, public, f"{' '.join(found[:2])} {comment}\n")


def _address(plan: Plan, address: str) -> str:
    return address if plan.access.port == 22 else f"[{address}]:{plan.access.port}"
