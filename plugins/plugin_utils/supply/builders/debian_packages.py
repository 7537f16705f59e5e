"""Build a repository of Debian packages with all dependencies, for hosts of a site without internet access.

Inputs: ``suite``, ``packages`` (names), ``further`` (more names). Dependencies are resolved for an empty machine,
without recommended packages, so the repository serves any host of the release. ``Release`` is signed later with the
site's own key (``pki/openpgp.py``).
"""

from __future__ import annotations

import email
import lzma
from collections.abc import Iterable
from datetime import UTC, datetime
from email.message import Message
from email.utils import format_datetime
from pathlib import Path

from ....module_utils._base.run import run
from ..cache.artifact import file_digest
from ..lock.model import Entry
from ..make import machine
from ..make.builder import Builder
from ..make.context import BuildContext
from ..make.sbom import Component

_ARCHITECTURE = "amd64"


class DebianPackages(Builder):
    """Run apt on the machine's mirrors, with separate directories and an empty dpkg database."""

    def build(self, entry: Entry, context: BuildContext) -> None:
        """Resolve and download the packages, then index them."""
        suite = entry.inputs["suite"]
        context.say("downloading packages")
        archives = _download(context, suite, [*entry.inputs["packages"], *entry.inputs.get("further", ())])
        context.say("writing the index")
        for fields in index(context.output, archives.glob("*.deb"), suite=suite, epoch=context.lock.pins.epoch):
            name, version = fields["Package"], fields["Version"]
            source, _, other = fields.get("Source", name).partition(" ")  # "openssl", or "gcc-14 (14.2.0-19)"
            context.components.append(
                Component.of_debian(
                    name, version, arch=fields["Architecture"], distro=suite, source=source,
                    source_version=other.strip("()") or version,
                )
            )  # fmt: skip


def index(output: Path, archives: Iterable[Path], *, suite: str, epoch: int) -> list[Message]:
    """Move ``archives`` into the repository at ``output``, and write its lists; return the control fields of each."""
    pool, stanzas, found = output / "pool", list[str](), list[Message]()
    pool.mkdir()
    for archive in sorted(archives):
        control = run(["dpkg-deb", "--field", str(archive)]).strip()
        fields = email.message_from_string(control)
        name, version, architecture = fields["Package"], fields["Version"], fields["Architecture"]
        file = archive.rename(pool / f"{name}_{version.rpartition(':')[2]}_{architecture}.deb")
        file.chmod(0o644)
        more = {"Filename": f"pool/{file.name}", "Size": file.stat().st_size, "SHA256": file_digest(file)}
        stanzas.append("\n".join([control, *(f"{key}: {value}" for key, value in more.items()), ""]))
        found.append(fields)
    _lists(output / "dists" / suite, "\n".join(stanzas), epoch=epoch)
    return found


def _download(context: BuildContext, suite: str, packages: list[str]) -> Path:
    """Return the directory of the downloaded packages."""
    work = context.scratch / "apt"
    for directory in ("lists/partial", "cache/archives/partial"):
        (work / directory).mkdir(parents=True)
    (work / "status").touch()
    (work / "sources.list").write_text("".join(f"{line}\n" for line in machine.apt_lines(suite)), encoding="utf-8")
    options = {
        "Dir::Etc::Parts": "/dev/null", "Dir::Etc::Main": "/dev/null",
        "Dir::Etc::Preferences": "/dev/null", "Dir::Etc::PreferencesParts": "/dev/null",
        "Dir::Etc::SourceList": f"{work}/sources.list", "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State": str(work), "Dir::State::Lists": f"{work}/lists", "Dir::State::Status": f"{work}/status",
        "Dir::Cache": f"{work}/cache", "APT::Architecture": _ARCHITECTURE, "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root", "Acquire::Languages": "none",
    }  # fmt: skip
    lines = [f'{name} "{value}";' for name, value in options.items()]
    lines += [f'APT::Architectures {{ "{_ARCHITECTURE}"; }};', *machine.apt_options(), *machine.apt_trust()]
    (work / "apt.conf").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "APT_CONFIG": f"{work}/apt.conf", **machine.environment()}
    for command in (["update", "-q"], ["install", "-q", "-y", "--download-only", "--", *packages]):
        context.run(["apt-get", *command], env=environment)
    return work / "cache/archives"


def _lists(place: Path, packages: str, *, epoch: int) -> None:
    """Write apt's lists of a suite to ``place``: ``Packages`` and ``Release``."""
    name = f"main/binary-{_ARCHITECTURE}/Packages"
    plain = place / name
    plain.parent.mkdir(parents=True)
    plain.write_text(packages, encoding="utf-8")
    packed = plain.with_name("Packages.xz")
    packed.write_bytes(lzma.compress(packages.encode()))
    sums = "".join(f" {file_digest(one)} {one.stat().st_size} {one.relative_to(place)}\n" for one in (plain, packed))
    lines = {
        "Origin": "groundup.cloud", "Label": "groundup.cloud", "Suite": place.name, "Codename": place.name,
        "Date": format_datetime(datetime.fromtimestamp(epoch, UTC), usegmt=True).replace("GMT", "UTC"),
        "Architectures": _ARCHITECTURE, "No-Support-for-Architecture-all": "Packages", "Components": "main",
    }  # fmt: skip
    text = "".join(f"{key}: {value}\n" for key, value in lines.items())
    (place / "Release").write_text(f"{text}SHA256:\n{sums}", encoding="utf-8")


BUILDER = DebianPackages()
