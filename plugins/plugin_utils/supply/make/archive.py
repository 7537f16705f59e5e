"""Pack trees into reproducible archives, and extract files from downloaded archives."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from ...errors import GroundupError
from ..lock.model import Entry


def pack_command(tree: Path, archive: Path, *, epoch: int, exclude: Sequence[str] = ()) -> list[str]:
    """Return the command that packs ``tree`` reproducibly: the archive depends only on the tree.

    ``epoch``: the latest time stamp of a file. ``exclude``: patterns that begin with ``./``.
    """
    return [
        "tar", "--create", "--sort=name", "--format=posix", "--numeric-owner", "--one-file-system",
        "--xattrs", "--xattrs-include=security.capability",
        "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime", f"--mtime=@{epoch}", "--clamp-mtime",
        *(f"--exclude={pattern}" for pattern in exclude), "-f", str(archive), "-C", str(tree), ".",
    ]  # fmt: skip


def extract(archive: Path, members: Sequence[str], *, entry: Entry, name: str, key: str) -> bytes:
    """Return the content of one file of ``archive``, a locked download (zip or tar).

    ``members``: path of nested archives, outermost first, and last the file; ``key``: the lock's key that names them.
    """
    content = archive.read_bytes()
    for member in members:
        try:
            content = _member(content, member)
        except (KeyError, tarfile.TarError, zipfile.BadZipFile) as error:
            raise GroundupError(
                f"artifact {entry.name} {entry.version}: {member} cannot be taken out of {name}: {error}",
                where=f"supply.lock: artifacts.{entry.name}.{key}",
                why="the archive is the locked one, and is not what the lock takes it for",
                remedy="name the file's path inside the archive, as `tar --list` or `unzip -l` shows it",
            ) from error
    return content


def _member(archive: bytes, name: str) -> bytes:
    if archive.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            return opened.read(name)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        stream = tar.extractfile(name)
        if stream is None:
            raise KeyError(f"{name} is no file")
        return stream.read()
