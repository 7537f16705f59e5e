"""List the packages inside an artifact: of a file system, an environment, Go programs. ``bill.py`` writes the bill."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from ....module_utils._base.run import run

# What `dpkg-query --show --showformat=...` prints of each package; the playbook `advisories` asks hosts for it, too.
DPKG_FORMAT = r"${db:Status-Status}\t${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\n"


@dataclass(frozen=True, slots=True, order=True)
class Component:
    """One package inside an artifact. ``purl`` says which kind of package it is (https://github.com/package-url)."""

    name: str
    version: str
    purl: str

    @classmethod
    def of(cls, kind: str, name: str, version: str, **qualifiers: str) -> Component:
        """Return the component of a package of ``kind``: ``golang``, ``pypi``, or ``deb`` (Debian)."""
        from packageurl import PackageURL  # imported late: a run that builds nothing does not need it

        if kind == "golang":
            space, _, short = name.lower().rpartition("/")
        else:
            space, short = ("debian", name) if kind == "deb" else ("", re.sub(r"[-_.]+", "-", name.lower()))
        return cls(name, version, PackageURL(kind, space, short, version, qualifiers).to_string())

    @classmethod
    def of_debian(
        cls, name: str, version: str, *, arch: str, distro: str, source: str, source_version: str
    ) -> Component:
        """Return the component of a Debian package. Advisories know it by its ``source`` package (`upstream`)."""
        upstream = source if source_version == version else f"{source}@{source_version}"
        return cls.of("deb", name, version, arch=arch, distro=distro, upstream=upstream)


def debian_components(root: Path, suite: str) -> Iterator[Component]:
    """Yield the installed packages of a Debian root file system, from its dpkg database."""
    query = ["dpkg-query", f"--admindir={root / 'var/lib/dpkg'}", "--show", f"--showformat={DPKG_FORMAT}"]
    yield from debian_listing(run(query), suite)


def debian_listing(text: str, suite: str) -> Iterator[Component]:
    """Yield the installed packages in the output of dpkg-query with `DPKG_FORMAT`."""
    for line in text.splitlines():
        status, name, version, architecture, source, source_version = line.split("\t")
        if status == "installed":
            yield Component.of_debian(
                name, version, arch=architecture, distro=suite, source=source, source_version=source_version
            )


def python_components(site_packages: Path) -> Iterator[Component]:
    """Yield the distributions of a ``site-packages`` directory."""
    for found in distributions(path=[str(site_packages)]):
        yield Component.of("pypi", found.metadata["Name"], found.version)


def go_components(version_output: str) -> Iterator[Component]:
    """Yield the modules of Go programs, from the output of ``go version -m``."""
    lines = [line.split("\t") for line in version_output.splitlines()]
    for index, words in enumerate(lines):
        if len(words) >= 4 and words[1] in ("dep", "=>"):
            replaced = index + 1 < len(lines) and len(lines[index + 1]) > 1 and lines[index + 1][1] == "=>"
            if not (words[1] == "dep" and replaced):
                yield Component.of("golang", words[2], words[3])


def components_of(document_path: Path) -> list[Component]:
    """Read the components back from an artifact's bill of material."""
    content = json.loads(document_path.read_text(encoding="utf-8"))
    return [Component(c["name"], c["version"], c["purl"]) for c in content.get("components", [])]
