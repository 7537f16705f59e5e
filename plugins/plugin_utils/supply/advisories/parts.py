"""What is installed where: packages of artifacts, from their bills of material, and of hosts, from dpkg's list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from packageurl import PackageURL
from packaging.utils import canonicalize_name

from ..make.sbom import Component, debian_listing

# Types of package URLs, and the ecosystem of advisories that names their packages (https://ossf.github.io/osv-schema).
ECOSYSTEMS = {"deb": "Debian", "pypi": "PyPI", "golang": "Go"}
_NAMES = {"std": "stdlib"}  # of Go, in advisories


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Part:
    """One package that is installed somewhere, under the name that advisories know it by."""

    holder: str  # the artifact, or "host NAME"
    ecosystem: str
    release: str  # of Debian: its code name; else empty
    name: str  # of Debian: the source package
    version: str  # of Debian: of the source package
    package: str  # as it is called where it is installed
    exact: bool  # False: the bill does not name the source package, and the binary's name stands for it


def parts(holder: str, components: Iterable[Component]) -> Iterator[Part]:
    """Yield the parts of ``holder``; those of ecosystems without advisories are left out."""
    for component in components:
        purl = PackageURL.from_string(component.purl)
        ecosystem = ECOSYSTEMS.get(purl.type)
        if ecosystem is None:
            continue
        qualifiers = purl.qualifiers if isinstance(purl.qualifiers, Mapping) else {}
        version, release, exact = purl.version or component.version, "", True
        package = f"{purl.namespace}/{purl.name}" if ecosystem == "Go" and purl.namespace else purl.name
        name = _NAMES.get(package, package)
        if ecosystem == "Debian":
            source, _, other = qualifiers.get("upstream", "").partition("@")
            name, version, exact = source or purl.name, other or version, bool(source)
            release = qualifiers.get("distro", "")
        elif ecosystem == "PyPI":
            name = canonicalize_name(purl.name)
        yield Part(
            holder=holder, ecosystem=ecosystem, release=release, name=name, version=version,
            package=package, exact=exact,
        )  # fmt: skip


def host_parts(hosts: Iterable[Mapping[str, str]]) -> Iterator[Part]:
    """Yield the parts of hosts: ``name``, code name of the ``release``, and ``packages``, printed by `DPKG_FORMAT`."""
    for host in hosts:
        yield from parts(f"host {host['name']}", debian_listing(host["packages"], host["release"]))
