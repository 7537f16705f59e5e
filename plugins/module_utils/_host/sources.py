"""Configure the package source: the seed beside the host's own, the site's mirror alone, or the host's own."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from .._base import files
from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.run import attempt
from . import apt

APT = apt.MIRROR.parents[1]
NAME = apt.MIRROR.name
KEY = "keyrings/groundup.asc"
CA = "groundup-ca.crt"
TRUST = "apt.conf.d/90groundup-ca"
PROXY = "apt.conf.d/90groundup-proxy"
ASIDE = ".before-groundup"
LISTS = Path("/var/lib/groundup/apt/lists")
SEED_LIST = apt.SEED_LIST
SEED_FILES = ("seed.asc", "seed-ca.crt", SEED_LIST, apt.OURS.name)  # apt.py checks the last
_HOOKS = ("Pre-Invoke", "Post-Invoke", "Post-Invoke-Success")  # of apt-get update
DEBIANS_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror:
    """A repository of packages."""

    url: str
    suites: Sequence[str] = ()  # empty: the host's release
    components: Sequence[str] = ("main",)
    key: str | None = None  # its signing key, armored; None: Debian's keys
    ca: str | None = None  # PEM; the CA of its server, trusted for it only; None: the OS's CAs

    def text(self, release: str) -> str:
        """Return its source file, in deb822 form: sources.list(5)."""
        entry = {
            "Types": "deb",
            "URIs": self.url,
            "Suites": " ".join(self.suites or (release,)),
            "Components": " ".join(self.components),
            "Signed-By": str(APT / KEY) if self.key else DEBIANS_KEYS,
        }
        return "".join(f"{key}: {value}\n" for key, value in entry.items())

    def trust(self) -> str:
        """Return the apt.conf(5) line that names the CA; empty without one."""
        host = urlsplit(self.url).hostname
        return f'Acquire::https::{host}::CAInfo "{APT / CA}";\n' if self.ca else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedRepository:
    """The repositories of the site's seed, one per Debian release. Only the collection's modules install from them."""

    url: str  # of the file tree: "https://registry.lab.test:8080"; on the seed itself "file:/srv/groundup"
    places: Mapping[str, str]  # by release, below the tree: "packages-13/13"
    key: str  # their signing key, armored
    ca: str = ""  # CA certificate (PEM) of a seed with TLS

    def files(self, *, home: Path | None = None, lists: Path | None = None) -> dict[Path, str]:
        """Return apt's files by path. Raises GroundupError when the seed does not serve the host's release.

        ``home``, ``lists``: directories in place of the host's own.
        """
        release, codename = (
            platform.freedesktop_os_release().get(name, "") for name in ("VERSION_ID", "VERSION_CODENAME")
        )
        if release not in self.places:
            raise GroundupError(
                f"the seed serves no packages of Debian {release or 'without a release number'}",
                where="/etc/os-release; site file key hosts.debian_releases",
                why=f"the host can install nothing: the seed has Debian {', '.join(self.places)}",
                remedy=f'add "{release}" to hosts.debian_releases and run the playbook groundup.cloud.seed; or write '
                "hosts.packages: host",
            )
        home = home or apt.OURS.parent
        source, key, ca = home / SEED_LIST, home / "seed.asc", home / "seed-ca.crt"
        url, vouched = f"{self.url}/{self.places[release]}", self.ca if self.url.startswith("https:") else ""
        options = {
            "Dir::Etc::SourceList": source, "Dir::Etc::SourceParts": "/dev/null",
            "Dir::Etc::Preferences": "/dev/null", "Dir::Etc::PreferencesParts": "/dev/null",
            "Dir::State::Lists": lists or LISTS, "Dir::Cache::PkgCache": "", "Dir::Cache::SrcPkgCache": "",
            "APT::Default-Release": "", "APT::Keep-Downloaded-Packages": "false",
            "Acquire::Languages": "none", "Acquire::Retries": 3,
            # The seed is inside the site: never use a proxy, configured or detected.
            "Acquire::http::Proxy": "DIRECT", "Acquire::https::Proxy": "DIRECT",
            "Acquire::http::Proxy-Auto-Detect": "", "Acquire::https::Proxy-Auto-Detect": "",
            # Independent of what the host allows for its own sources.
            "APT::Get::AllowUnauthenticated": "false", "Acquire::AllowInsecureRepositories": "false",
            "Acquire::https::Verify-Peer": "true", "Acquire::https::Verify-Host": "true",
        }  # fmt: skip
        if vouched:
            options["Acquire::https::CAInfo"] = ca
        return {
            home / apt.OURS.name: _configuration(options),
            source: f"deb [arch=amd64 signed-by={key}] {url} {codename} main\n",
            key: f"{self.key.strip()}\n",
            ca: f"{vouched.strip()}\n" if vouched else "",
        }


def snapshot() -> str:
    """Return the snapshot of the seed's packages that the host installs from; "" with another source."""
    return _snapshot_of(files.read(apt.OURS.with_name(SEED_LIST)) or "")


def _snapshot_of(seed_list: str) -> str:
    line = seed_list.split()
    return line[-3].rpartition("/")[2] if line else ""


def apart(source: SeedRepository | None, home: Path) -> Path:
    """Return a configuration of apt that has ``source``, and keeps its lists below ``home``. Raises GroundupError.

    None: the host's own sources, or its mirror, as they are. Nothing outside ``home`` changes.
    """
    lists, configuration = home / "lists", home / apt.OURS.name
    (lists / "partial").mkdir(parents=True)
    own = {"Dir::State::Lists": lists, "Dir::Cache::PkgCache": "", "Dir::Cache::SrcPkgCache": ""}
    written = source.files(home=home, lists=lists) if source else {configuration: _configuration(own)}
    # The directory is root's alone.
    written[configuration] += _configuration({"APT::Sandbox::User": "root"})
    # The host's own programs around an update are for the host's own lists.
    written[configuration] += "".join(f"#clear APT::Update::{one};\n" for one in _HOOKS)
    for path, text in written.items():
        files.write_file(path, text.encode(), mode=0o600)
    return configuration


def _configuration(options: Mapping[str, object]) -> str:
    return "".join(f'{name} "{value}";\n' for name, value in options.items())


def wanted_source(wanted: Mapping[str, Any], *, ca: str = "") -> Mirror | SeedRepository | None:
    """Return the source that ``packages_*`` select; None: the host's own. ``ca``: the CA of a seed with TLS."""
    if wanted["packages_seed"]:
        return SeedRepository(**wanted["packages_seed"], ca=ca)
    if not wanted["packages_url"]:
        return None
    return Mirror(
        url=wanted["packages_url"],
        suites=wanted["packages_suites"],
        components=wanted["packages_components"],
        key=wanted["packages_key"],
        ca=wanted["packages_ca"],
    )


def packages_from(changes: Changes, source: Mirror | SeedRepository | None) -> bool:
    """Configure ``source``; return whether its package lists must be fetched. Raises GroundupError.

    A mirror becomes the host's only source. The seed is added beside the host's own sources, which stay untouched.
    None restores the host's own sources alone. Of another snapshot of the seed the host has no lists, and would know
    nothing newer; also after a run that was killed before it fetched them.
    """
    before = snapshot()
    ours = source.files() if isinstance(source, SeedRepository) else {}
    for path in (apt.OURS.with_name(name) for name in SEED_FILES):
        content = ours.get(path, "")
        _ = files.place(changes, path, content) if content else files.remove(changes, path)
    moved = isinstance(source, SeedRepository) and apt.OURS.with_name(SEED_LIST) in changes.written
    unread = bool(before and moved) or bool(ours and _unlisted(_snapshot_of(ours[apt.OURS.with_name(SEED_LIST)])))
    return _only(changes, source if isinstance(source, Mirror) else None) or unread


def _only(changes: Changes, mirror: Mirror | None) -> bool:
    ours, key = APT / "sources.list.d" / NAME, APT / KEY
    if mirror is None:
        if ours.exists():  # removed last: a killed run must not leave the host without a source
            for aside in sorted([*APT.glob(f"*{ASIDE}"), *ours.parent.glob(f"*{ASIDE}")]):
                _rename(changes, aside, aside.with_name(aside.name.removesuffix(ASIDE)))
            files.remove(changes, ours)
        for path in (APT / TRUST, APT / CA, key):
            files.remove(changes, path)
        return False
    rekeyed = files.place(changes, key, f"{mirror.key.strip()}\n") if mirror.key else files.remove(changes, key)
    if mirror.ca:
        files.place(changes, APT / CA, f"{mirror.ca.strip()}\n")
    files.generate(changes, APT / TRUST, mirror.trust())
    if not mirror.ca:
        files.remove(changes, APT / CA)
    placed = files.generate(
        changes, ours, mirror.text(platform.freedesktop_os_release().get("VERSION_CODENAME", "stable"))
    )
    others = [APT / "sources.list", *ours.parent.glob("*.list"), *ours.parent.glob("*.sources")]
    for other in sorted(others):
        if other != ours and other.exists():
            _rename(changes, other, other.with_name(other.name + ASIDE))
    return placed or rekeyed or not _listed()


def way_out(changes: Changes, wanted: Mapping[str, Any]) -> None:
    """Give apt the proxy to the host's own sources, or take it away. With a login, only root may read it."""
    path, proxy, login = APT / PROXY, wanted["packages_proxy"], wanted["packages_proxy_login"]
    secret = bool(login) or "@" in (files.read(path) or "")
    if not proxy:
        files.remove(changes, path, secret=secret)
        return
    user, _, word = login.partition(":")
    there = f"://{quote(user, safe='')}:{quote(word, safe='')}@" if login else "://"
    kinds = ("http", "https")
    lines = [f'Acquire::{kind}::Proxy "{proxy[kind].replace("://", there)}";' for kind in kinds]
    single = [name for name in proxy["no_proxy"] if not name.startswith(".") and not set(name) & set("/:")]
    lines += [f'Acquire::{kind}::Proxy::{name} "DIRECT";' for name in single for kind in kinds]
    text = files.HEADER + "".join(f"{line}\n" for line in lines)
    files.place(changes, path, text, mode=0o600 if login else 0o644, secret=secret)


def fetch_lists(changes: Changes) -> None:
    """Fetch the mirror's package lists: a mirror that does not serve fails here, not in a later role."""
    if changes.add("fetch the package lists"):
        apt.update()


def _unlisted(name: str) -> bool:
    """Return whether apt has lists of the seed, and none of this snapshot. apt writes "_" for "/" in their names."""
    lists = [each.name for each in LISTS.glob("*_dists_*")]
    return bool(lists) and not any(f"_{name}_dists_" in one for one in lists)


def _listed() -> bool:
    """Return whether apt has lists of the present sources; a killed run or a cleaned host lacks them."""
    return bool(attempt(["apt-get", "indextargets", "--format", "$(FILENAME)", "Created-By: Packages"]).stdout.strip())


def _rename(changes: Changes, old: Path, new: Path) -> None:
    if changes.add(f"rename {old} to {new.name}"):
        old.replace(new)
