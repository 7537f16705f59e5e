"""Artifacts as their projects publish them: by URL or OCI reference, and only with the locked digest."""

from __future__ import annotations

import hashlib
import http.client
import shutil
import subprocess
import tarfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from ...errors import GroundupError
from ..build.context import Context
from .model import Entry, Upstream, UpstreamFile

_TIMEOUT = 60  # seconds without an answer


def obtain(entry: Entry, context: Context) -> None:
    """Fetch the artifact into ``context.output``. Raises GroundupError: not locked, unreachable, another digest."""
    published = _published(entry)
    if published.reference:
        if published.digest is None:
            raise _unrecorded(entry, published.reference)
        _copy(entry, published.reference, published.digest, context)
        return
    for name, file in published.files.items():
        if file.digest is None:
            raise _unrecorded(entry, file.url)
        context.say(f"fetching {file.url}")
        found = download(file.url, context.scratch / "download")
        if found != file.digest:
            raise GroundupError(
                f"artifact {entry.name} {entry.version}: {file.url} has digest {found}, the lock says {file.digest}",
                where=f"supply.lock: artifacts.{entry.name}.upstream.files.{name}",
                why="the published file is not the one that was locked",
                remedy="find out why it changed; when it is meant, record the new digest in the lock",
            )
        _place(entry, file, context.scratch / "download", context.output / name)


def _copy(entry: Entry, reference: str, digest: str, context: Context) -> None:
    context.say(f"copying {reference}")
    repository = reference.rpartition(":")[0]
    try:
        context.run([
            "skopeo", "--insecure-policy", "copy", "--preserve-digests", *_plain(reference),
            f"docker://{repository}@{digest}", f"oci-archive:{context.output}:{entry.image}",
        ])  # fmt: skip
    except GroundupError as error:
        cause = error.what.splitlines()[-1].strip()
        raise GroundupError(
            f"artifact {entry.name} {entry.version}: {reference} cannot be copied: {cause}",
            where=error.where,
            why="it is not built here, and without it its users do not start",
            remedy=f"reach {reference.partition('/')[0]} (proxy, CA bundle), or copy it into a registry of your own "
            "and write `supply: {source: registry}`",
        ) from error


def resolve(entry: Entry, *, scratch: Path) -> dict[str, str]:
    """Fetch what the entry publishes and return key path below ``upstream`` -> digest, for digests not recorded yet."""
    published = _published(entry)
    if published.reference:
        return {} if published.digest else {"digest": _registry_digest(published.reference)}
    return {
        f"files.{name}.digest": download(file.url, scratch / "download")
        for name, file in published.files.items()
        if file.digest is None
    }


def download(url: str, destination: Path) -> str:
    """Fetch ``url`` into ``destination`` and return its digest. Raises GroundupError when it cannot be had."""
    total = hashlib.sha256()
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "groundup.cloud"})  # noqa: S310 - the lock names it
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as source, destination.open("wb") as target:  # noqa: S310
            for chunk in _chunks(source):
                total.update(chunk)
                target.write(chunk)
    except (OSError, http.client.HTTPException) as error:
        raise GroundupError(
            f"{url} cannot be fetched: {error}",
            where="supply.lock",
            why="with source upstream what is published is not built",
            remedy="reach it (proxy, CA bundle), or use `supply: {source: build}` in the site file",
        ) from error
    return f"sha256:{total.hexdigest()}"


def _chunks(answer: Any) -> Iterator[bytes]:
    """Yield the whole ``answer``. Raises OSError when it was cut: read in pieces, Python takes it for a whole one."""
    while chunk := answer.read(1 << 20):
        yield chunk
    if missing := getattr(answer, "length", None):
        raise OSError(f"the connection ended with {missing} bytes to come")


def _registry_digest(reference: str) -> str:
    command = ["skopeo", "inspect", "--raw", *_plain(reference, flag="--tls-verify=false"), f"docker://{reference}"]
    try:
        result = subprocess.run(command, capture_output=True, check=False, timeout=_TIMEOUT)
    except subprocess.TimeoutExpired:
        result = subprocess.CompletedProcess(command, 1, b"", f"no answer in {_TIMEOUT} s".encode())
    if result.returncode != 0:
        raise GroundupError(
            f"{reference} cannot be inspected: {result.stderr.decode(errors='replace').strip()}",
            where="supply.lock",
            why="its digest is not known without it",
            remedy="reach the registry (proxy, CA bundle), then run the same command again",
        )
    return f"sha256:{hashlib.sha256(result.stdout).hexdigest()}"


def _plain(reference: str, *, flag: str = "--src-tls-verify=false") -> list[str]:
    """Registries on this very machine speak plain HTTP; all others must present a certificate."""
    return [flag] if reference.startswith(("127.0.0.1:", "localhost:")) else []


def _place(entry: Entry, file: UpstreamFile, download: Path, target: Path) -> None:
    if file.member is None:
        shutil.move(download, target)
    else:
        try:
            with tarfile.open(download) as archive, target.open("wb") as stream:
                shutil.copyfileobj(_member(archive, file.member), stream)
        except (KeyError, tarfile.TarError) as error:
            raise GroundupError(
                f"artifact {entry.name} {entry.version}: {file.member} cannot be taken out of {file.url}: {error}",
                where=f"supply.lock: artifacts.{entry.name}.upstream.files.{target.name}.member",
                why="the archive is the locked one, and is not what the lock takes it for",
                remedy="name the file's path inside the archive, as `tar --list` shows it",
            ) from error
    target.chmod(0o755)


def _member(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    stream = archive.extractfile(name)
    if stream is None:
        raise KeyError(f"{name} is no file")
    return stream


def _published(entry: Entry) -> Upstream:
    if entry.upstream is None:
        raise ValueError(f"{entry.name} is not published")
    return entry.upstream


def _unrecorded(entry: Entry, address: str) -> GroundupError:
    return GroundupError(
        f"artifact {entry.name} {entry.version}: no digest is recorded for {address}",
        where=f"supply.lock: artifacts.{entry.name}.upstream",
        why="what is fetched without a digest may be anything",
        remedy=f"where it can be reached: ci/supply resolve {entry.name}",
    )
