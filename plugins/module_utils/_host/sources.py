"""Where apt takes packages from: the site's mirror alone, or what the host came with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .._base import files
from .._base.changes import Changes
from .._base.run import attempt, run
from . import packages

APT = Path("/etc/apt")
NAME = "groundup.sources"
KEY = "keyrings/groundup.asc"
ASIDE = ".before-groundup"
OS_RELEASE = Path("/etc/os-release")
DEBIANS_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror:
    """A repository of packages."""

    url: str
    suites: Sequence[str] = ()  # none: the host's release
    components: Sequence[str] = ("main",)
    key: str | None = None  # what it is signed with, armored; None: Debian's keys

    def text(self, release: str) -> str:
        """Return its source file, in the form of sources.list(5), deb822."""
        entry = {
            "Types": "deb",
            "URIs": self.url,
            "Suites": " ".join(self.suites or (release,)),
            "Components": " ".join(self.components),
            "Signed-By": str(APT / KEY) if self.key else DEBIANS_KEYS,
        }
        return "".join(f"{key}: {value}\n" for key, value in entry.items())


def packages_from(changes: Changes, mirror: Mirror | None) -> bool:
    """Make ``mirror`` the only source; None gives the host its own back. Return whether its lists are to be fetched."""
    ours, key = APT / "sources.list.d" / NAME, APT / KEY
    if mirror is None:
        if files.remove(changes, ours):
            for aside in sorted([*APT.glob(f"*{ASIDE}"), *ours.parent.glob(f"*{ASIDE}")]):
                _rename(changes, aside, aside.with_name(aside.name.removesuffix(ASIDE)))
        files.remove(changes, key)
        return False
    rekeyed = files.place(changes, key, f"{mirror.key.strip()}\n") if mirror.key else files.remove(changes, key)
    placed = files.generate(changes, ours, mirror.text(_codename()))
    others = [APT / "sources.list", *ours.parent.glob("*.list"), *ours.parent.glob("*.sources")]
    for other in sorted(others):
        if other != ours and other.exists():
            _rename(changes, other, other.with_name(other.name + ASIDE))
    return placed or rekeyed or not _listed()


def fetch_lists(changes: Changes) -> None:
    """Fetch what the mirror has, so that a mirror that does not serve is found here and not by a later role."""
    if changes.add("fetch the package lists"):
        run(
            [*packages.APT, *packages.STRICT, "update"],
            remedy="correct hosts.packages_url, packages_suites, packages_components or packages_key of the site file",
            timeout=packages.TIMEOUT,
        )


def _listed() -> bool:
    """Return whether apt has lists of the present sources: not after a killed run, or on a cleaned host."""
    return bool(attempt(["apt-get", "indextargets", "--format", "$(FILENAME)", "Created-By: Packages"]).stdout.strip())


def _rename(changes: Changes, old: Path, new: Path) -> None:
    if changes.add(f"rename {old} to {new.name}"):
        old.replace(new)


def _codename() -> str:
    for line in (files.read(OS_RELEASE) or "").splitlines():
        key, _, value = line.partition("=")
        if key == "VERSION_CODENAME":
            return value.strip('"')
    return "stable"
