"""Foretell an upgrade of a host: packages, restarts, whether it must reboot. Changes nothing, not even apt's lists."""

from __future__ import annotations

import functools
import os
import platform
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .._base.changes import Changes
from .._base.run import attempt
from . import apt, mapped, simulation, sources, updates
from .interfaces import carrying
from .mapped import PROC
from .package_age import RESTART

INFO = Path("/var/lib/dpkg/info")
# Packages that only a reboot brings into effect, beside kernels.
REBOOT = frozenset(("libc6", "systemd", "dbus", "dbus-daemon", "dbus-broker", "intel-microcode", "amd64-microcode"))
_KERNEL = re.compile(r"linux-image-\d")
_CORE = frozenset(("init.scope", "dbus.service"))  # restarted by a reboot only
_MERGED = ("/lib", "/bin/", "/sbin/")  # links into /usr


def foretell(_: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Return what an upgrade would change on the host, from the source in ``given``. Raises GroundupError."""
    seed = given["packages_seed"]
    source = sources.SeedRepository(**seed, ca=given["ca_certificate"]) if seed else None
    with tempfile.TemporaryDirectory(prefix="groundup-patch-") as home:
        configuration = sources.apart(source, Path(home))
        apt.ask(configuration, "-o", "APT::Update::Error-Mode=any", "update")
        said = simulation.parse(apt.ask(configuration, "--simulate", *simulation.UPGRADE))
    runs, names = mapped.read(), [one.package for one in said.changes]
    offered = next((place for release, place in seed["places"].items() if release == _release()), "") if seed else ""
    return {
        "changed": False,
        "debian": _release(),
        "snapshot": sources.snapshot(),
        "offered": offered.rpartition("/")[2],
        "changes": [{**asdict(one), "step": updates.step_of(one.package)} for one in said.changes],
        "removed": said.removed,
        "kept": said.kept,
        "held": _held(),
        "restarts": restarts({name: files_of(name) for name in names}, runs.used),
        "reboot": reboots([one.package for one in said.changes]),
        "waiting": waiting(runs),
        "reboot_waiting": reboot_waiting(runs),
        "guests": runs.guests,
        "boot": boot(),
        "holds": [address for address in given["virtual"] if carrying(address)],
    }


def restarts(files: Mapping[str, Iterable[str]], used: Mapping[str, set[str]]) -> dict[str, list[str]]:
    """Return the units that an upgrade of packages with these ``files`` concerns, each with those packages.

    A unit is concerned when it runs one of the files, or when its own file is one of them.
    """
    found: dict[str, list[str]] = {}
    for package, paths in files.items():
        own = set(paths)
        units = {Path(path).name for path in own if "/systemd/system/" in path}
        for unit, running in used.items():
            if unit not in _CORE and (unit in units or own & running):
                found.setdefault(unit, []).append(package)
    return {unit: sorted(packages) for unit, packages in sorted(found.items())}


def reboots(packages: Iterable[str]) -> list[str]:
    """Return those of ``packages`` that come into effect by a reboot only."""
    return sorted(name for name in packages if name.partition(":")[0] in REBOOT or _KERNEL.match(name))


def files_of(package: str) -> set[str]:
    """Return the files of an installed package, as the memory maps of processes name them."""
    name, _, architecture = package.partition(":")
    lists = [INFO / f"{package}.list", *(INFO.glob(f"{name}:{architecture or '*'}.list"))]
    paths = {line for one in lists if one.exists() for line in one.read_text(encoding="utf-8").splitlines()}
    return {os.path.realpath(path) if path.startswith(_MERGED) else path for path in paths}


def newest(names: Sequence[str], versions: Mapping[str, str]) -> str:
    """Return the one of ``names`` that has the newest of ``versions``, by dpkg's own order."""

    def order(one: str, other: str) -> int:
        older = attempt(["dpkg", "--compare-versions", versions[one], "lt", versions[other]]).returncode == 0
        return -1 if older else 1

    return max(names, key=functools.cmp_to_key(order))


def _held() -> list[str]:
    # dpkg's word: apt-mark would write apt's cache.
    shown = attempt(["dpkg-query", "-W", "-f", "${db:Status-Want} ${Package}\n"]).stdout.splitlines()
    return [name for want, _, name in (line.partition(" ") for line in shown) if want == "hold"]


def boot(proc: Path = PROC) -> str:
    """Return a text that differs after each boot: the kernel's, and of a container when its first process started."""
    # Fields after the name, which may have spaces and parentheses.
    started = (proc / "1/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    return f"{(proc / 'sys/kernel/random/boot_id').read_text(encoding='ascii').strip()}:{started}"


def waiting(runs: mapped.Mapped) -> list[str]:
    """Return the units that run files which are gone, except those that only a reboot restarts."""
    return sorted(set(runs.removed) - _CORE)


def reboot_waiting(runs: mapped.Mapped) -> list[str]:
    found = [f"{unit} runs removed files" for unit in sorted(_CORE & set(runs.removed))]
    shown = attempt(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status} ${Version}\n", "linux-image-[0-9]*"])
    lines = [line.split() for line in shown.stdout.splitlines()]
    kernels = {one[0]: one[2] for one in lines if one[1:2] == ["installed"] and not one[0].endswith("-dbg")}
    own = f"linux-image-{platform.release()}"
    if own in kernels and (last := newest(sorted(kernels), kernels)) != own:
        found.append(f"{last} is installed, {own} runs")
    if not found and RESTART.exists():
        found.append(f"{RESTART} says so")
    return found


def _release() -> str:
    return platform.freedesktop_os_release().get("VERSION_ID", "")
