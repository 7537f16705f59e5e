"""Set kernel parameters and load kernel modules, now and at every boot."""

from __future__ import annotations

import fnmatch
import platform
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from .._base import files
from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.run import run

PROC = Path("/proc")
SYS = Path("/sys")
PARAMETERS = Path("/etc/sysctl.d/90-groundup.conf")
BUILTIN = Path("/lib/modules")
SYSCTL_DIRECTORIES = ("etc/sysctl.d", "run/sysctl.d", "usr/local/lib/sysctl.d", "usr/lib/sysctl.d")  # first one wins


def parameters(
    changes: Changes, wanted: Mapping[str, str], *, file: Path, unloaded: Collection[str] = frozenset()
) -> None:
    """Set the kernel parameters ``wanted``, and write them to ``file`` for the next boot.

    ``unloaded``: modules that check mode did not load; a missing parameter may belong to one of them.
    A `*` in a name matches all existing parameters, as in systemd-sysctl; a full name takes precedence. Raises
    GroundupError for a parameter that does not exist or cannot be written here.
    """
    text = "".join(f"{name} = {value}\n" for name, value in sorted(wanted.items()))
    files.generate(changes, file, text)
    for name in sorted(wanted):
        if "*" not in name:
            _parameter(changes, name, wanted[name], may_come=bool(unloaded))
            continue
        for found in _matching(name):
            if found not in wanted:
                _parameter(changes, found, wanted[name], may_vanish=True)


def overridden(wanted: Mapping[str, str], *, file: Path, root: Path = Path("/")) -> list[str]:
    """Return a line for each of ``wanted`` that a file other than ``file`` sets otherwise at the next boot.

    systemd-sysctl reads files in the order of their names; one in an earlier directory hides its namesakes.
    """
    found: dict[str, Path] = {}
    for directory in reversed(SYSCTL_DIRECTORIES):
        found |= {path.name: path for path in (root / directory).glob("*.conf")}
    order = [found[name] for name in sorted(found)]
    if "ENABLED=yes" in (files.read(root / "etc/ufw/ufw.conf") or ""):  # ufw sets its own when it starts
        order.append(root / "etc/ufw/sysctl.conf")
    ours, last = root / file.relative_to("/"), dict[str, tuple[Path, str]]()
    for path in order:
        for line in (files.read(path) or "").splitlines():
            name, sign, value = line.strip().lstrip("-").partition("=")
            if sign and not name.startswith(("#", ";")):
                last[_path(name.strip())] = path, " ".join(value.split())
    lines = []
    for name, (path, value) in sorted(last.items()):
        # A full name wins over a pattern, in whichever file.
        key = next((one for one in wanted if _path(one) == name), None) or next(
            (one for one in wanted if "*" in one and fnmatch.fnmatchcase(name, _path(one))), None
        )
        if key and path != ours and value != " ".join(wanted[key].split()):
            shown = f"/{path.relative_to(root)}"
            lines.append(f"{shown} sets {key} to {value} at the next boot, not {wanted[key]}: take it out there")
    return lines


def _matching(pattern: str) -> list[str]:
    root = PROC / "sys"
    paths = (path.relative_to(root) for path in sorted(root.glob(_path(pattern))))
    return [".".join(part.replace(".", "/") for part in path.parts) for path in paths]


def _parameter(changes: Changes, name: str, value: str, *, may_vanish: bool = False, may_come: bool = False) -> None:
    path = PROC / "sys" / _path(name)
    try:
        current = path.read_text(encoding="ascii")
    except OSError as error:
        if may_vanish and isinstance(error, FileNotFoundError):  # the interface of a pod that ended meanwhile
            return
        if may_come and isinstance(error, FileNotFoundError):
            changes.add(f"{name} = {value}")
            return
        raise GroundupError(
            f"kernel parameter {name} cannot be read",
            where=str(path),
            why=f"{error.strerror}: the module it belongs to may not be loaded",
            remedy=f"add the module to hosts.kernel_modules of the site file, or write {name}: null in hosts.sysctl",
        ) from None
    if current.split() == value.split():
        return
    before = " ".join(current.split())
    if not changes.add(f"{name} = {value}", name=name, before=f"{before}\n", after=f"{value}\n"):
        return
    try:
        path.write_text(f"{value}\n", encoding="ascii")
    except OSError as error:
        raise GroundupError(
            f"kernel parameter {name} cannot be set to {value}",
            where=str(path),
            why=f"{error.strerror}; it is {before}, the machine's below, or takes no such value",
            remedy=f"set it on the machine below, or write {name}: null in hosts.sysctl of the site file",
        ) from None


def _path(name: str) -> str:
    """Return the parameter's path below /proc/sys. Its first separator defines the other one: sysctl(8)."""
    first = next((letter for letter in name if letter in "./"), ".")
    return name if first == "/" else name.translate(str.maketrans("./", "/."))


def modules(changes: Changes, wanted: Iterable[str], *, file: Path) -> set[str]:
    """Load the kernel modules ``wanted``, now and at boot, except built-in ones. Raises GroundupError.

    Returns the modules that check mode did not load.
    """
    needed = [name for name in sorted(set(wanted)) if not _built_in(name)]
    files.generate(changes, file, "".join(f"{name}\n" for name in needed))
    loaded, left = _words(PROC / "modules", 0), set()
    for name in needed:
        if _canonical(name) in loaded:
            continue
        if changes.add(f"load kernel module {name}"):
            run(["modprobe", "--", name], remedy="install the kernel's modules, or take it out of hosts.kernel_modules")
        else:
            left.add(name)
    return left


def blocked(changes: Changes, names: Iterable[str], *, file: Path) -> None:
    """Make modprobe refuse the kernel modules ``names`` for all callers. A loaded module stays loaded."""
    lines = (f"install {name} /bin/false\nblacklist {name}\n" for name in sorted(set(names)))
    files.generate(changes, file, "".join(lines))


def _built_in(name: str) -> bool:
    canonical = _canonical(name)
    if canonical in _words(PROC / "modules", 0):
        return False
    listed = files.read(BUILTIN / platform.release() / "modules.builtin") or ""
    built = {_canonical(Path(line).name.partition(".ko")[0]) for line in listed.splitlines()}
    # A kernel without loadable modules has no modules.builtin; other files show its features.
    return (
        canonical in built
        or canonical in _words(PROC / "filesystems", -1)
        or (SYS / "module" / canonical).exists()
        or (canonical == "br_netfilter" and (PROC / "sys/net/bridge/bridge-nf-call-iptables").exists())
    )


def _words(path: Path, column: int) -> set[str]:
    return {line.split()[column] for line in (files.read(path) or "").splitlines()}


def _canonical(name: str) -> str:
    return name.replace("-", "_")
