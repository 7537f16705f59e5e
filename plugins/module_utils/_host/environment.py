"""Install the Python environment of OpenStack's services, switch to it by one link, and keep the former one."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.files import link
from .._base.run import run
from .downloads import Download, fetch, published_digest

ROOT = Path("/opt/groundup/openstack")
CURRENT = "current"
_CHECK = "import libvirt, nova.version, neutron.version"
STEP = "ansible-playbook groundup.cloud.openstack_upgrade: services first, then hypervisors batch by batch"
_NAME = re.compile(r"[A-Za-z0-9._-]+-[0-9a-f]{12}")


def place(
    changes: Changes, *, release: str, url: str, sha256: str | None, ca: str | None, root: Path = ROOT,
    imports: str = _CHECK,
) -> tuple[str, bool]:  # fmt: skip
    """Unpack the environment of ``release`` from ``url``; return its directory's name, and whether it is current.

    It is unpacked beside its place and then renamed, so a killed run leaves no incomplete one; `switch` makes it
    current. ``imports`` is Python code that must run in the new environment. Raises GroundupError, OSError.
    """
    if sha256 is None and changes.check and not (root / CURRENT).exists():
        changes.add(f"place the environment of {release}", name=str(root), after=f"{url}\n")
        return f"{release}-", False  # the file server need not be there yet
    digest = sha256 or published_digest(url, ca=ca)
    name = f"{release}-{digest[:12]}"
    home, before = root / name, current(root)
    if not home.is_dir() and changes.add(
        f"place {home}", name=str(root / CURRENT), before=f"{before}\n" if before else "", after=f"{name}\n"
    ):
        _unpack(url, home, sha256=digest, ca=ca, imports=imports)
    return name, before == name


def current(root: Path = ROOT) -> str:
    """Return the name of the directory that services run from; empty without one."""
    path = root / CURRENT
    return str(path.readlink()) if path.is_symlink() else ""


def of_another_release(name: str, release: str, also: Sequence[str] = ()) -> str:
    """Return the fault when the environment ``name`` is not of the site file's ``release``; "" when it is.

    ``also``: releases that it may have, while OpenStack is on its way to another.
    """
    found = name.rpartition("-")[0]
    if not release or found in (release, *also):
        return ""
    if not found:
        return f"there is no {ROOT / CURRENT}: run the playbook groundup.cloud.hypervisor"
    return f"its environment is of release {found} ({ROOT / CURRENT}), the site file's is {release}; {STEP}"


def refuse_step(release: str, *, host: str, root: Path = ROOT) -> None:
    """Raise GroundupError when services run from an environment of another release than ``release``."""
    name = current(root)
    if name and of_another_release(name, release):
        raise GroundupError(
            f"its services run from {name}, and would go to release {release}",
            where=f"{host}, {root / CURRENT}",
            why="all hypervisors at once, or before the control plane, would leave instances that nobody can manage",
            remedy=STEP,
        )


def switch(changes: Changes, name: str, *, root: Path = ROOT) -> None:
    """Make ``name`` the current environment; remove all others but the former one."""
    former = current(root)
    link(changes, root / CURRENT, name)
    if changes.check or not former or former == name:
        return
    for one in root.iterdir():
        if _NAME.fullmatch(one.name) and one.name not in (name, former) and changes.add(f"remove {one}"):
            shutil.rmtree(one)


def _unpack(url: str, home: Path, *, sha256: str, ca: str | None, imports: str) -> None:
    archive, part = home.with_name(f".{home.name}.tar.gz"), home.with_name(f".{home.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    fetch(Download(url=url, sha256=sha256, path=str(archive), archive=False), archive, sha256=sha256, ca=ca)
    try:
        part.mkdir(parents=True, mode=0o755)
        # tar keeps links and modes, and is ten times as fast as Python's tarfile.
        run(["tar", "--extract", "--gzip", "--no-same-owner", "--file", str(archive), "--directory", str(part)])
        _starts(part, url, imports)
        part.rename(home)
    finally:
        archive.unlink(missing_ok=True)
        shutil.rmtree(part, ignore_errors=True)


def _starts(home: Path, url: str, imports: str) -> None:
    """Refuse an environment that does not start here, such as one for another Debian release."""
    try:
        run([str(home / "bin/python"), "-c", imports])
    except GroundupError as error:
        raise GroundupError(
            f"the environment does not start here: {error.what}",
            where=url,
            why="it is made for one Debian release: its Python and its libraries; the former stays in use",
            remedy="see the Debian release of the host (cat /etc/debian_version), which the seed must serve",
        ) from error
