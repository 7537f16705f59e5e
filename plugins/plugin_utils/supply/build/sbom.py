"""What is inside an artifact: packages of a file system, of an environment, of Go programs; ``bill.py`` writes it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote


@dataclass(frozen=True, slots=True, order=True)
class Component:
    """One package inside an artifact. ``purl`` says which kind of package it is (https://github.com/package-url)."""

    name: str
    version: str
    purl: str

    @classmethod
    def debian(cls, name: str, version: str, architecture: str, suite: str) -> Component:
        """Return the component of a Debian binary package."""
        return cls(name, version, f"pkg:deb/debian/{quote(name)}@{quote(version)}?arch={architecture}&distro={suite}")

    @classmethod
    def go(cls, module: str, version: str) -> Component:
        """Return the component of a Go module."""
        return cls(module, version, f"pkg:golang/{quote(module.lower())}@{quote(version)}")

    @classmethod
    def pypi(cls, name: str, version: str) -> Component:
        """Return the component of a Python distribution."""
        return cls(name, version, f"pkg:pypi/{quote(re.sub(r'[-_.]+', '-', name).lower())}@{quote(version)}")


def debian_components(root: Path, suite: str) -> Iterator[Component]:
    """Yield the installed packages of a Debian root file system, from its dpkg database."""
    text = (root / "var/lib/dpkg/status").read_text(encoding="utf-8")
    for paragraph in text.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version|Architecture|Status): (.*)$", paragraph, re.MULTILINE))
        if fields.get("Status", "").endswith(" installed"):
            yield Component.debian(fields["Package"], fields["Version"], fields["Architecture"], suite)


def python_components(site_packages: Path) -> Iterator[Component]:
    """Yield the distributions of a ``site-packages`` directory, from their metadata."""
    for metadata in site_packages.glob("*.dist-info/METADATA"):
        head = metadata.read_text(encoding="utf-8", errors="replace").split("\n\n", 1)[0]
        fields = dict(re.findall(r"^(Name|Version): (.*)$", head, re.MULTILINE))
        yield Component.pypi(fields["Name"], fields["Version"])


def go_components(version_output: str) -> Iterator[Component]:
    """Yield the modules of Go programs, from what ``go version -m`` printed for them."""
    lines = [line.split("\t") for line in version_output.splitlines()]
    for index, words in enumerate(lines):
        if len(words) >= 4 and words[1] in ("dep", "=>"):
            replaced = index + 1 < len(lines) and len(lines[index + 1]) > 1 and lines[index + 1][1] == "=>"
            if not (words[1] == "dep" and replaced):
                yield Component.go(words[2], words[3])


def components_of(document_path: Path) -> list[Component]:
    """Read the components back from an artifact's bill of material."""
    content = json.loads(document_path.read_text(encoding="utf-8"))
    return [Component(c["name"], c["version"], c["purl"]) for c in content.get("components", [])]
