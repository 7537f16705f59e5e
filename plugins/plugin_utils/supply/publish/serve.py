"""Serving artifacts to a site: images into its OCI registry, files as a tree for its web server."""

from __future__ import annotations

import functools
import http.client
import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from ....module_utils._base.files import write_file
from ....module_utils._base.locks import locked
from ...errors import GroundupError
from ...paths import cache_dir
from ..build.oci import manifest_digest
from ..build.progress import Progress, silent
from ..cache.artifact import Artifact, digest, file_digest

_ACCEPT = "application/vnd.oci.image.manifest.v1+json"
PUSH_TIMEOUT = 1800.0  # seconds for one image, of some hundred megabytes
LAID_OUT = ".artifact.json"  # written last beside the files of an artifact: its digest; its time says when it was used


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One image in a registry."""

    name: str  # of the artifact
    reference: str  # "10.90.0.2:5000/kubernetes/etcd:3.6.8-0"
    digest: str
    changed: bool  # pushed just now; False: the registry had it


def publish_images(
    registry: str,
    names: str | Sequence[str] | None,
    *,
    tls_verify: bool = True,
    progress: Progress,
    dry_run: bool = False,
) -> list[Published]:
    """Put images into the registry at ``registry`` (``address:port``), each only when the registry lacks that digest.

    Args:
        registry: where to push; an address, because the controller need not resolve the site's names.
        names: image artifacts or groups; None: every image of the lock. Artifacts of other kinds are passed over.
        tls_verify: False for a registry that speaks plain HTTP.
        progress: called with one line per image.
        dry_run: only say what would be pushed.

    Raises GroundupError when the registry does not answer or refuses an image.
    """
    from .. import ensure, load_lock

    lock = load_lock()
    chosen = [n for n in lock.select(_listed(names)) if lock.artifacts[n].kind == "image"]
    images = list(ensure(chosen, progress=progress, lock=lock).values())
    return push(registry, images, tls_verify=tls_verify, progress=progress, dry_run=dry_run)


def push(
    registry: str,
    images: Sequence[Artifact],
    *,
    tls_verify: bool,
    progress: Progress,
    dry_run: bool = False,
    inside: AbstractContextManager[str] | None = None,
) -> list[Published]:
    """Like ``publish_images``, for artifacts in hand.

    ``inside`` gives the address that takes images, in plain HTTP, where ``registry`` itself takes none. It is entered
    only when something is to be pushed.
    """

    def look(image: Artifact) -> Published:
        reference, wanted = f"{registry}/{image.image}", manifest_digest(image.path)
        there = registry_digest(registry, image, tls_verify=tls_verify) == wanted
        return Published(name=image.name, reference=reference, digest=wanted, changed=not there)

    def send(address: str, number: int, image: Artifact) -> None:
        progress(f"[publish {number}/{len(images)}] {registry}/{image.image}")
        if not dry_run:
            _push(image, f"{address}/{image.image}", tls_verify=tls_verify and inside is None)

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(look, images))
        lacking = [(number, image) for number, image in enumerate(images, 1) if found[number - 1].changed]
        if lacking:
            with nullcontext(registry) if inside is None or dry_run else inside as address:
                list(pool.map(lambda one: send(address, *one), lacking))
    return found


@functools.cache  # it reads the machine's certificates, which takes longer than a request
def direct() -> urllib.request.OpenerDirector:
    """Return an opener that passes by the machine's proxy: a seed is never behind it."""
    return urllib.request.build_opener(urllib.request.ProxyHandler({}))


def registry_digest(registry: str, image: Artifact, *, tls_verify: bool) -> str | None:
    """Return the digest a registry holds under the image's tag, None when it has no such tag."""
    repository, _, tag = str(image.image).rpartition(":")
    url = f"{'https' if tls_verify else 'http'}://{registry}/v2/{repository}/manifests/{tag}"
    request = urllib.request.Request(url, headers={"Accept": _ACCEPT}, method="HEAD")  # noqa: S310 - built above
    try:
        with direct().open(request, timeout=20) as answer:
            return str(answer.headers["Docker-Content-Digest"])
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise _no_registry(registry, error) from error
    except (OSError, http.client.HTTPException) as error:
        raise _no_registry(registry, error) from error


def served() -> Path:
    """Return where files lie on the controller as a seed serves them, beside the artifacts they are links to."""
    return cache_dir() / "served"


def file_tree(destination: Path, names: str | Sequence[str] | None, *, progress: Progress = silent) -> list[Path]:
    """Lay out the files of artifacts as ``<artifact>/<version>/<file>`` with ``<file>.sha256`` beside each.

    Args:
        destination: directory to fill; files that are right already are left alone, nothing is removed.
        names: artifacts or groups of kind ``files``; None: all of them. Other kinds are passed over.

    Returns the files that were written. Files are hard links into the cache where the file system allows it.
    """
    from .. import ensure, load_lock

    lock = load_lock()
    chosen = [n for n in lock.select(_listed(names)) if lock.artifacts[n].kind == "files"]
    written: list[Path] = []
    for artifact in ensure(chosen, progress=progress, lock=lock).values():
        written += lay_out(destination, artifact)
    return written


def lay_out(destination: Path, artifact: Artifact) -> list[Path]:
    """Like ``file_tree``, for one artifact in hand; one at a time below ``destination``, whoever asks."""
    destination.mkdir(parents=True, exist_ok=True)
    with locked(destination / ".lock"):
        return _lay_out(destination, artifact)


def _lay_out(destination: Path, artifact: Artifact) -> list[Path]:
    sums = destination / artifact.name / artifact.version / LAID_OUT
    if sums.exists() and json.loads(sums.read_text(encoding="utf-8")) == {"sha256": artifact.sha256}:
        sums.touch()
        return []
    if digest(artifact.path) != artifact.sha256:
        raise GroundupError(
            f"artifact {artifact.name} in the cache is damaged: its digest is not {artifact.sha256[:12]}",
            where=str(artifact.path),
            why="every host of the site would run a changed program",
            remedy=f"ci/supply build --rebuild {artifact.name}",
        )
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


def _listed(names: str | Sequence[str] | None) -> str | list[str] | None:
    return names if names is None or isinstance(names, str) else list(names)


def _no_registry(registry: str, error: Exception) -> GroundupError:
    return GroundupError(
        f"the registry at {registry} does not answer as one: {error}",
        where=registry,
        why="images cannot be served to the site",
        remedy="look at the registry's service on the seed host",
    )
