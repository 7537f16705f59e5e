"""The parts of a set that are files: Kubernetes' keys, and the state of the site on the controller."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...paths import state_dir
from ...vault import STORE, password_source

SITE_FILE = "site-file/"  # its place in the archive
RESTORING, SET_ASIDE = ".restoring", ".before-restore"  # where a restore unpacks; end of where it sets files aside
_LEFT_OUT = ("backups", "lab", RESTORING)  # other backups; volumes of the lab's hosts
Write = Callable[[bytes], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Writer:
    """What tarfile needs of a file."""

    write: Write


class _Reader(io.RawIOBase):
    """A file for tarfile from pieces."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        super().__init__()
        self._pieces, self._rest = iter(pieces), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            self._rest = next(self._pieces, b"")
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def files(site: str, site_file: str) -> list[tuple[str, Path]]:
    """Return name and path of the files of a site's state, and of the site file.

    The passwords of the secrets store are left out, wherever they are: they must not lie beside what they open.
    """
    home, source = state_dir(site), password_source(site)
    passwords = {one.resolve() for one in (source.path, source.next, *source.formers())}
    found = [(str(path.relative_to(home)), path) for path in _files(home) if path.resolve() not in passwords]
    return [*sorted(found), (f"{SITE_FILE}{Path(site_file).name}", Path(site_file))]


def _files(home: Path) -> Iterator[Path]:
    for path in home.iterdir():
        if path.name in _LEFT_OUT or path.name.endswith((".lock", SET_ASIDE)):
            continue
        yield from (one for one in (path.rglob("*") if path.is_dir() else (path,)) if one.is_file())


def take(found: Iterable[tuple[str, Path]], write: Write) -> dict[str, Any]:
    """Write a tar archive of files, of links what they lead to; return the number of those that were still there."""
    number = 0
    out: Any = _Writer(write=write)
    with tarfile.open(fileobj=out, mode="w|", dereference=True) as archive:
        for name, path in found:
            with suppress(FileNotFoundError):  # half a file, of a program that renames it when it is whole
                archive.add(path, arcname=name, recursive=False)
                number += 1
    return {"files": number}


def reader(pieces: Iterable[bytes]) -> io.RawIOBase:
    """Return a file for tarfile from pieces."""
    return _Reader(pieces)


def names(pieces: Iterable[bytes]) -> list[str]:
    """Return the names of the files in an archive; all of it is read. Raises tarfile.TarError."""
    source = io.BufferedReader(reader(pieces), 1 << 16)
    with tarfile.open(fileobj=source, mode="r|") as archive:
        found = [member.name for member in archive if member.isfile()]
    while source.read(1 << 16):  # what follows the end of the archive, to the end of the part
        pass
    return found


def judge(needed: Iterable[str], about: dict[str, Any], found: list[str]) -> list[str]:
    """Return what an archive lacks. ``about``: of `take`."""
    faults = [f"{name} is missing" for name in needed if name not in found]
    if len(found) != about["files"]:
        faults.append(f"it has {len(found)} files, at the backup it had {about['files']}")
    return faults


NEEDED = (STORE,)  # of the controller's state
