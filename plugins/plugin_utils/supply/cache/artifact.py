"""An artifact in the cache, and the digest that identifies its content."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..lock.model import Kind

_FILE_NAMES: dict[Kind, str] = {"root": "root.tar.zst", "files": "files", "image": "image.tar"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A finished artifact."""

    name: str
    kind: Kind
    version: str
    key: str
    path: Path  # the archive, or for kind ``files`` the directory
    sha256: str  # of the archive; for a directory, of the list of its files' modes, digests and names
    image: str | None  # repository and tag below a registry, of an image
    serves: str | None = None  # of the lock: the family it is a version of
    built: bool = False  # by this run

    @property
    def place(self) -> Path:
        """Return the directory below a served tree that its files are laid out in."""
        return Path(self.serves or self.name, self.version)

    @property
    def sbom(self) -> Path:
        """Return the path of the bill of material (CycloneDX JSON)."""
        return self.path.parent / "sbom.json"


def payload_name(kind: Kind) -> str:
    """Return the name of an artifact's payload in its store directory."""
    return _FILE_NAMES[kind]


def digest(path: Path) -> str:
    """Return the sha256 (hex) of a file, or of a directory's content: names, executable bits, links and bytes."""
    if not path.is_dir():
        return file_digest(path)
    total = hashlib.sha256()
    for item in sorted(path.rglob("*")):
        name = item.relative_to(path).as_posix()
        if item.is_symlink():
            total.update(f"link {item.readlink()} {name}\n".encode())
        elif item.is_file():
            mode = "755" if item.stat().st_mode & 0o100 else "644"
            total.update(f"{mode} {file_digest(item)} {name}\n".encode())
    return total.hexdigest()


def file_digest(path: Path) -> str:
    """Return the sha256 (hex) of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def stamp(path: Path) -> list[list[int | str]]:
    """Return name, size, and modification time of every file: cheap to compare, enough to detect a touched file."""
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file() and not p.is_symlink())
    return [[f.relative_to(path.parent).as_posix(), (s := f.stat()).st_size, s.st_mtime_ns] for f in files]
