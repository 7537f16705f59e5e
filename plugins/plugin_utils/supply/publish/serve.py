"""Serving artifacts to a site: images into its OCI registry, files as a tree for its web server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from ....module_utils._base.files import write_file
from ....module_utils._base.locks import locked
from ...errors import GroundupError
from ...paths import cache_dir
from ...progress import Progress, no_progress, reminder
from ..build.oci import manifest_digest
from ..cache.artifact import Artifact, digest, file_digest
from ..errors import damaged
from .http import ask

_ACCEPT = "application/vnd.oci.image.manifest.v1+json"
PUSH_TIMEOUT = 1800.0  # seconds for one image, of some hundred megabytes
LAID_OUT = ".artifact.json"  # written last beside the files of an artifact: its digest; its time says when it was used


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedImage:
    """One image in a registry."""

    name: str  # of the artifact
    reference: str  # "10.90.0.2:5000/kubernetes/etcd:3.6.8-0"
    digest: str
    changed: bool  # pushed just now; False: the registry had it


def push(
    registry: str,
    images: Sequence[Artifact],
    *,
    tls_verify: bool = False,
    progress: Progress = no_progress,
    dry_run: bool = False,
    inside: AbstractContextManager[str] | None = None,
) -> list[PushedImage]:
    """Put images into a registry, each only when it lacks that digest.

    Args:
        registry: ``address:port``; an address, because the controller need not resolve the site's names.
        images: artifacts of kind ``image``.
        tls_verify: False for a registry that speaks plain HTTP.
        progress: called with a line per image, and while one takes long.
        dry_run: only say what would be pushed.
        inside: gives the address that takes images, in plain HTTP, where ``registry`` itself takes none. Entered only
            when something is to be pushed.

    Raises GroundupError when the registry does not answer or refuses an image.
    """

    def look(image: Artifact) -> PushedImage:
        reference, wanted = f"{registry}/{image.image}", manifest_digest(image.path)
        there = registry_digest(registry, image, tls_verify=tls_verify) == wanted
        return PushedImage(name=image.name, reference=reference, digest=wanted, changed=not there)

    def send(address: str, number: int, image: Artifact) -> None:
        what = f"[publish {number}/{len(images)}] {registry}/{image.image}"
        progress(what)
        if not dry_run:
            with reminder(progress, f"{what}, {image.path.stat().st_size / 2**20:.0f} MiB"):
                _push(image, f"{address}/{image.image}", tls_verify=tls_verify and inside is None)

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(look, images))
        lacking = [(number, image) for number, image in enumerate(images, 1) if found[number - 1].changed]
        if lacking:
            with nullcontext(registry) if inside is None or dry_run else inside as address:
                list(pool.map(lambda one: send(address, *one), lacking))
    return found


def registry_digest(registry: str, image: Artifact, *, tls_verify: bool) -> str | None:
    """Return the digest a registry holds under the image's tag, None when it has no such tag."""
    repository, _, tag = str(image.image).rpartition(":")
    url = f"{'https' if tls_verify else 'http'}://{registry}/v2/{repository}/manifests/{tag}"
    try:
        status, headers, _ = ask(url, method="HEAD", accept=_ACCEPT, timeout=20)
    except OSError as error:
        raise _no_registry(registry, str(error)) from error
    if status not in (200, 404):
        raise _no_registry(registry, f"HTTP status {status}")
    return str(headers["Docker-Content-Digest"]) if status == 200 else None


def served() -> Path:
    """Return where files lie on the controller as a seed serves them, beside the artifacts they are links to."""
    return cache_dir() / "served"


def lay_out(destination: Path, artifact: Artifact) -> list[Path]:
    """Lay out the files of an artifact as ``<artifact>/<version>/<file>`` with ``<file>.sha256`` beside each.

    Hard links into the cache where the file system allows it. What is right already is left alone, nothing is removed.
    One at a time below ``destination``, whoever asks. Returns the files that were written.
    """
    destination.mkdir(parents=True, exist_ok=True)
    with locked(destination / ".lock"):
        return _lay_out(destination, artifact)


def _lay_out(destination: Path, artifact: Artifact) -> list[Path]:
    sums = destination / artifact.name / artifact.version / LAID_OUT
    if sums.exists() and json.loads(sums.read_text(encoding="utf-8")) == {"sha256": artifact.sha256}:
        sums.touch()
        return []
    if digest(artifact.path) != artifact.sha256:
        raise damaged(artifact.name, artifact.path)
    written = []
    for source in sorted(p for p in artifact.path.rglob("*") if p.is_file()):
        target = sums.parent / source.relative_to(artifact.path)
        target.parent.mkdir(parents=True, exist_ok=True)
        found = file_digest(source)
        _link(source, target)
        write_file(target.with_name(target.name + ".sha256"), f"{found}  {target.name}\n".encode(), mode=0o644)
        written.append(target)
    write_file(sums, json.dumps({"sha256": artifact.sha256}).encode(), mode=0o644)
    return written


def _link(source: Path, target: Path) -> None:
    temporary = target.with_name(f".{target.name}.new")
    temporary.unlink(missing_ok=True)
    try:
        os.link(source, temporary)
    except OSError:
        shutil.copy2(source, temporary)
    temporary.replace(target)


def _push(image: Artifact, reference: str, *, tls_verify: bool) -> None:
    command = [
        "skopeo", "--insecure-policy", "copy", "--quiet", "--preserve-digests", "--retry-times=2",
        f"--dest-tls-verify={str(tls_verify).lower()}", f"oci-archive:{image.path}", f"docker://{reference}",
    ]  # fmt: skip
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PUSH_TIMEOUT)
        said = "" if result.returncode == 0 else f"{result.stderr.strip().splitlines()[-1:]}"
    except subprocess.TimeoutExpired:
        said = f"the registry did not take it within {PUSH_TIMEOUT:g} s"
    if said:
        raise GroundupError(
            f"image {image.name} could not be pushed: {said}",
            where=reference,
            why="hosts pull it from this registry only",
            remedy="look at the registry's log and at its disk",
        )


def _no_registry(registry: str, error: str) -> GroundupError:
    return GroundupError(
        f"the registry at {registry} does not answer as one: {error}",
        where=registry,
        why="images cannot be served to the site",
        remedy="look at the registry's service on the seed host",
    )
