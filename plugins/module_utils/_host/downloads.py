"""Download a node's programs from the site's file server, verified by digest."""

from __future__ import annotations

import hashlib
import http.client
import io
import re
import ssl
import tarfile
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.files import read, write_file
from .units import Unit

BLOCK = 1 << 20  # bytes
DIGEST = re.compile(r"[0-9a-f]{64}\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A file that a node downloads from the site's file server."""

    url: str
    path: str  # its destination; for an archive, the directory to unpack it into
    sha256: str | None = None  # of the download; None: read from the server's file `<url>.sha256`
    archive: bool = False  # a tar archive, compressed or not


def install(
    changes: Changes, download: Download, target: Path, *, ca: str | None = None, reader: Unit | None = None
) -> None:
    """Install a program at ``target`` unless its digest is right. Raises GroundupError, OSError.

    ``ca`` (PEM) is trusted for the file server instead of the host's trust store. ``reader``: the unit that runs it.
    """
    # For an archive, its digest is stored beside the unpacked files: they cannot tell from which archive they come.
    stamp = target / f".{download.url.rsplit('/', 1)[-1]}.sha256"
    found = read(stamp) if download.archive else sha256(target)
    after = download.url
    if not changes.check or found:  # in check mode the file server need not be there yet
        expected = download.sha256 or published_digest(download.url, ca=ca)
        if found == expected:
            return
        after = f"sha256 {expected}"
    if reader:
        reader.replaced()
    before = f"sha256 {found}\n" if found else ""
    if changes.add(f"fetch {target}", name=str(target), before=before, after=f"{after}\n"):
        fetch(download, target, sha256=expected, ca=ca, before=reader.mark if reader else None)
        if download.archive:
            write_file(stamp, expected.encode(), mode=0o644)


def sha256(path: Path) -> str | None:
    """Return a file's SHA-256; None when it does not exist."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return None


def published_digest(url: str, *, ca: str | None = None) -> str:
    """Return the SHA-256 the file server publishes beside ``url``. Raises GroundupError."""
    beside = f"{url}.sha256"
    if not (found := DIGEST.match(b"".join(_blocks(beside, ca=ca)).decode("ascii", errors="replace"))):
        raise GroundupError(
            f"{beside} does not begin with a SHA-256",
            where=beside,
            why="a program is installed only when its digest is known",
            remedy="publish the artifacts again (playbooks groundup.cloud.supply and groundup.cloud.seed)",
        )
    return found.group()


def fetch(
    download: Download, path: Path, *, sha256: str, ca: str | None = None, before: Callable[[], None] | None = None
) -> None:
    """Download a file to ``path``, or unpack an archive into it, mode 0755; ``before`` is called before a replacement.

    Raises GroundupError when the download fails or has another digest; OSError when it cannot be written here.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    # This run holds the host's lock: overwrite the partial file of a killed run.
    temporary = path.with_name(f".{path.name}.part")
    try:
        with temporary.open("w+b") as stream:
            for block in _blocks(download.url, ca=ca):
                digest.update(block)
                stream.write(block)
            _check_digest(download, found=digest.hexdigest(), expected=sha256)
            if download.archive:
                stream.seek(0)
                _unpack(stream, path)
                return
        temporary.chmod(0o755)
        if before:
            before()
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _blocks(url: str, *, ca: str | None) -> Iterator[bytes]:
    """Yield the content of ``url`` in blocks. Raises GroundupError; the caller's own errors pass through."""
    try:
        trust = ssl.create_default_context(cadata=ca)
        # Python 3.13 refuses CAs and certificates that lack extensions, as old company CAs do.
        trust.verify_flags &= ~ssl.VERIFY_X509_STRICT
        # No proxy: the host's environment may name one, and the site's file server is not behind it.
        ways = urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust)
        with urllib.request.build_opener(*ways).open(url, timeout=60) as response:
            while block := response.read(BLOCK):
                yield block
    except (OSError, http.client.HTTPException) as error:  # URLError is an OSError
        raise GroundupError(
            f"cannot fetch {url}: {error}",
            where=url,
            why="the node's programs come from the site's file server and from nowhere else",
            remedy="verify the seed layer (playbook groundup.cloud.seed, tag verify), then run this again",
        ) from error


def _check_digest(download: Download, *, found: str, expected: str) -> None:
    if found != expected:
        raise GroundupError(
            f"{download.url} has SHA-256 {found}, expected {expected}",
            where=download.path,
            why="a program that is not the one that was published is never installed",
            remedy="find out who changed it; remove its directory on the seed; run groundup.cloud.seed again",
        )


def _unpack(stream: io.BufferedRandom, directory: Path) -> None:
    with tarfile.open(fileobj=stream, mode="r:*") as archive:
        for item in archive.getmembers():
            content = archive.extractfile(item) if item.isfile() else None
            if content is not None:
                write_file(directory / Path(item.name).name, content.read(), mode=0o755)
