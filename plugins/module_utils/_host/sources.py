"""Where apt takes packages from: the site's mirror alone, or what the host came with."""

from __future__ import annotations

from pathlib import Path

from . import files
from .changes import Changes

APT = Path("/etc/apt")
NAME = "groundup.sources"
ASIDE = ".before-groundup"
OS_RELEASE = Path("/etc/os-release")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def packages_from(changes: Changes, url: str | None) -> None:
    """Make ``url``, a mirror of Debian signed by Debian's keys, the only source; None gives the host its own back."""
    ours = APT / "sources.list.d" / NAME
    if url is None:
        if files.remove(changes, ours):
            for aside in sorted([*APT.glob(f"*{ASIDE}"), *ours.parent.glob(f"*{ASIDE}")]):
                _rename(changes, aside, aside.with_name(aside.name.removesuffix(ASIDE)))
        return
    suite = _codename()
    entry = {"Types": "deb", "URIs": url, "Suites": suite, "Components": "main", "Signed-By": KEYRING}
    text = "# Written by groundup.cloud.\n" + "".join(f"{key}: {value}\n" for key, value in entry.items())
    files.place(changes, ours, text)
    others = [APT / "sources.list", *ours.parent.glob("*.list"), *ours.parent.glob("*.sources")]
    for other in sorted(others):
        if other != ours and other.exists():
            _rename(changes, other, other.with_name(other.name + ASIDE))


def _rename(changes: Changes, old: Path, new: Path) -> None:
    if changes.add(f"{old}: renamed to {new.name}"):
        old.replace(new)


def _codename() -> str:
    for line in (files.read(OS_RELEASE) or "").splitlines():
        key, _, value = line.partition("=")
        if key == "VERSION_CODENAME":
            return value.strip('"')
    return "stable"
