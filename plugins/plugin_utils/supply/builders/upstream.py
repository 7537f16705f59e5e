"""Fetch artifacts as their projects publish them, by URL or OCI reference, and only with the locked digest.

``Lock.by`` sets this builder, and the lock's ``upstream`` as ``inputs``.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from ...errors import GroundupError
from ..errors import not_locked
from ..lock.model import Entry, Upstream, UpstreamFile
from ..make.archive import extract
from ..make.builder import Builder
from ..make.context import BuildContext

_TIMEOUT = 60  # seconds without an answer


class UpstreamArtifact(Builder):
    """Download files, or copy an image."""

    def build(self, entry: Entry, context: BuildContext) -> None:
        """Fetch the artifact. Raises GroundupError if no digest is locked, the digest differs, or it is unreachable."""
        upstream = _upstream(entry)
        if upstream.reference:
            _copy(entry, upstream.reference, upstream.digest or _no_digest(entry, upstream.reference), context)
        for name, file in upstream.files.items():
            _fetch(entry, name, file, context)


def _fetch(entry: Entry, name: str, file: UpstreamFile, context: BuildContext) -> None:
    locked = file.digest or _no_digest(entry, file.url)
    fetched, target, key = context.scratch / "download", context.output / name, f"upstream.files.{name}"
    context.say(f"fetching {file.url}")
    if (found := download(file.url, fetched)) != locked:
        raise not_locked(entry, f"{file.url} has digest {found}", locked=locked, key=key)
    if file.member is None:
        shutil.move(fetched, target)
    else:
        target.write_bytes(extract(fetched, [file.member], entry=entry, name=file.url, key=f"{key}.member"))
    target.chmod(0o755)


def _copy(entry: Entry, reference: str, digest: str, context: BuildContext) -> None:
    context.say(f"copying {reference}")
    repository = reference.rpartition(":")[0]
    try:
        context.run([
            "skopeo", "--insecure-policy", "copy", "--preserve-digests", *plain_http("--src-tls-verify", reference),
            f"docker://{repository}@{digest}", f"oci-archive:{context.output}:{entry.image}",
        ])  # fmt: skip
    except GroundupError as error:
        cause = error.what.splitlines()[-1].strip()
        raise GroundupError(
            f"artifact {entry.name} {entry.version}: {reference} cannot be copied by its digest: {cause}",
            where=error.where,
            why="no other content is taken, and without it its users do not start",
            remedy=f"reach {reference.partition('/')[0]} (proxy, CA bundle), or copy it into a registry of your own "
            "and write `supply: {source: registry}`; if the digest is gone there: -e supply_resolve=true "
            "-e '{supply_force: [other-digest]}'",
        ) from error


def resolve(entry: Entry, *, scratch: Path) -> dict[tuple[str, ...], str]:
    """Fetch the published files or image; return key below ``upstream`` -> digest, for digests not recorded yet."""
    upstream = _upstream(entry)
    if upstream.reference:
        return {} if upstream.digest else {("digest",): digest_of(upstream.reference, scratch=scratch)}
    return {
        ("files", name, "digest"): digest_of(file.url, scratch=scratch)
        for name, file in upstream.files.items()
        if file.digest is None
    }


def digest_of(address: str, *, scratch: Path) -> str:
    """Return the digest of what is published at ``address``, a URL or a reference. Raises GroundupError."""
    return download(address, scratch / "download") if "://" in address else _registry_digest(address)


def download(url: str, destination: Path) -> str:
    """Fetch ``url`` into ``destination`` and return its digest. Raises GroundupError when it cannot be fetched."""
    total = hashlib.sha256()
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "groundup.cloud"})  # noqa: S310 - the lock names it
        # An opener of its own: the default one keeps the proxies of its first use.
        opener = urllib.request.build_opener()
        with opener.open(request, timeout=_TIMEOUT) as source, destination.open("wb") as target:
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
    """Yield the whole ``answer``. Raises OSError if it is truncated; Python does not detect that in chunked reads."""
    while chunk := answer.read(1 << 20):
        yield chunk
    if missing := getattr(answer, "length", None):
        raise OSError(f"the connection ended with {missing} bytes to come")


def manifest(reference: str, *, where: str, why: str) -> bytes:
    """Return what a registry has under a reference: a manifest, or a list of them. Raises GroundupError."""
    command = ["skopeo", "inspect", "--raw", *plain_http("--tls-verify", reference), f"docker://{reference}"]
    try:
        result = subprocess.run(command, capture_output=True, check=False, timeout=_TIMEOUT)
        fault = result.stderr.decode(errors="replace").strip() if result.returncode else ""
    except subprocess.TimeoutExpired:
        fault = f"no answer in {_TIMEOUT} s"
    if fault:
        raise GroundupError(
            f"{reference} cannot be inspected: {fault}",
            where=where,
            why=why,
            remedy="reach the registry (proxy, CA bundle, skopeo login), then run the same command again",
        )
    return result.stdout


def _registry_digest(reference: str) -> str:
    found = manifest(reference, where="supply.lock", why="its digest is not known without it")
    if not _runs_here(found):
        raise GroundupError(
            f"{reference} has no image for linux/amd64",
            where="supply.lock",
            why="its digest would be recorded, and no host could run it",
            remedy="name another tag, or an image of your own: supply.images",
        )
    return f"sha256:{hashlib.sha256(found).hexdigest()}"


def _runs_here(manifest: bytes) -> bool:
    """Return whether ``manifest`` is that of one image, or a list with an image for the hosts."""
    try:
        found = json.loads(manifest)
        listed = found.get("manifests")
        platforms = [one.get("platform", {}) for one in listed or ()]
    except (ValueError, AttributeError, TypeError):
        return False
    wanted = {"os": "linux", "architecture": "amd64"}
    return "config" in found if listed is None else any(wanted.items() <= one.items() for one in platforms)


def plain_http(flag: str, reference: str) -> list[str]:
    """Return the flag for plain HTTP for a registry on this machine; all others must present a certificate."""
    return [f"{flag}=false"] if reference.startswith(("127.0.0.1:", "localhost:")) else []


def _upstream(entry: Entry) -> Upstream:
    if entry.upstream is None:
        raise ValueError(f"{entry.name} is not published")
    return entry.upstream


def _no_digest(entry: Entry, address: str) -> NoReturn:
    raise GroundupError(
        f"artifact {entry.name} {entry.version}: no digest is recorded for {address}",
        where=f"supply.lock: artifacts.{entry.name}.upstream",
        why="what is fetched without a digest may be anything",
        remedy="where it can be reached: ansible-playbook -i <site file> groundup.cloud.supply -e supply_resolve=true; "
        f"for every site of a clone: ci/supply resolve {entry.name}",
    )


BUILDER = UpstreamArtifact()
