"""Set kernel parameters and load kernel modules, now and at every boot."""

from __future__ import annotations

import fnmatch
import platform
from collections.abc import Collection, Iterable, Iterator, Mapping
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
# Names of one setting of the kernel: a file that sets the other one sets this one, too.
_TWINS = {"net/ipv4/ip_forward": "net/ipv4/conf/all/forwarding", "net/ipv4/conf/all/forwarding": "net/ipv4/ip_forward"}


def parameters(
    changes: Changes, wanted: Mapping[str, str], *, file: Path, unloaded: Collection[str] = frozenset()
) -> None:
    """Set the kernel parameters ``wanted``, and write them to ``file`` for the next boot.

    ``unloaded``: modules that check mode did not load; a missing parameter may belong to one of them.
    A `*` in a name matches all existing parameters, as in systemd-sysctl; a full name takes precedence. Raises
    GroundupError for a parameter that does not exist or cannot be written here.
    """
    text = "".join(f"{name} = {value}\n" for name, value in sorted(_written(wanted).items()))
    files.generate(changes, file, text)
    for name in sorted(wanted):
        if "*" not in name:
            _parameter(changes, name, wanted[name], may_come=bool(unloaded))
            continue
        for found in _matching(name):
            if found not in wanted:
                _parameter(changes, found, wanted[name], may_vanish=True)


def _written(wanted: Mapping[str, str]) -> dict[str, str]:
    """Return ``wanted`` with the full names of all interfaces' two settings: Debian takes some out of patterns."""
    whole = {
        name.replace(".*.", f".{word}."): value
        for name, value in wanted.items() if ".conf.*." in name for word in ("all", "default")
    }  # fmt: skip
    return {**whole, **wanted}


def overridden(wanted: Mapping[str, str], *, file: Path, root: Path = Path("/")) -> list[str]:
    """Return a line for each of ``wanted`` that a file other than ``file`` sets otherwise at the next boot.

    systemd-sysctl reads files in the order of their names; one in an earlier directory hides its namesakes. The last
    setting of a name counts, a full name before any pattern, and a name with `-` and no value is out of all patterns.
    """
    wanted, found = _written(wanted), dict[str, Path]()
    for directory in reversed(SYSCTL_DIRECTORIES):
        found |= {path.name: path for path in (root / directory).glob("*.conf")}
    ours = root / file.relative_to("/")
    order = [path for _, path in sorted((found | {ours.name: ours}).items())]
    if "ENABLED=yes" in (files.read(root / "etc/ufw/ufw.conf") or ""):  # ufw sets its own when it starts
        order.append(root / "etc/ufw/sysctl.conf")
    last: dict[str, tuple[Path, str | None]] = {}
    for path in order:
        for name, value in _settings(path) if path != ours else ((_path(one), wanted[one]) for one in wanted):
            last.pop(name, None)  # it is set in the place of its last setting
            last[name] = path, value
    lines = []
    for key in sorted(wanted):
        for path, value in _winners(key, wanted, last, ours):
            shown = f"/{path.relative_to(root)}"
            does = f"takes {key} out of patterns" if value is None else f"sets {key} to {value}"
            lines.append(f"{shown} {does} at the next boot, not {wanted[key]}: take it out there")
    return lines


def _settings(path: Path) -> Iterator[tuple[str, str | None]]:
    """Yield names, as paths below /proc/sys, and values of a file of sysctl.d(5); None: the name is no pattern's."""
    for line in map(str.strip, (files.read(path) or "").splitlines()):
        name, sign, value = line.lstrip("-").partition("=")
        if line and not line.startswith(("#", ";")) and (sign or line.startswith("-")):
            yield _path(name.strip()), " ".join(value.split()) if sign else None


def _winners(
    key: str, wanted: Mapping[str, str], last: Mapping[str, tuple[Path, str | None]], ours: Path
) -> Iterator[tuple[Path, str | None]]:
    """Yield file and value of the foreign settings that win over that of ``key``. ``last``: in their order."""
    own, twin = _path(key), _TWINS.get(_path(key), "")
    after = False  # whether our setting was before
    for name, (path, value) in last.items():
        after = after or (name == own and path == ours)
        full = not set(name) & set("*?[")
        if path == ours or (value is not None and value.split() == wanted[key].split()):
            continue
        if "*" in key:
            # Of two patterns the later one wins; where both are full names, the case below has it.
            wins = _meets(name, own) and (full or after) and all(_path(one) != name for one in wanted if one != key)
        elif name == own:
            wins = value is not None
        else:
            wins = after and value is not None and bool(twin) and (name == twin if full else _meets(twin, name))
        if wins:
            yield path, value


def _meets(name: str, pattern: str) -> bool:
    """Return whether ``pattern`` matches ``name``, part by part; ``name`` may be another pattern."""
    one, other = name.split("/"), pattern.split("/")
    return len(one) == len(other) and all(
        fnmatch.fnmatchcase(a, b) or fnmatch.fnmatchcase(b, a)
        for a, b in zip(one, other)  # noqa: B905 - Python 3.10
    )


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
    """Load modules (not built-in ones) now and at boot; return those check mode did not load. Raises GroundupError."""
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
