"""Push images to a site's OCI registry."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ....module_utils._base.run import attempt, run
from ...errors import GroundupError
from ...progress import Progress, no_progress, reminder
from ..cache.artifact import Artifact
from ..make.oci import manifest_digest
from .http import ask

_ACCEPT = "application/vnd.oci.image.manifest.v1+json"
PUSH_TIMEOUT = 1800.0  # seconds for one image, of some hundred megabytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How the controller reaches a seed: through ssh, so that it need not be one of the seed's readers."""

    writes: str  # address:port of the registry itself, in plain HTTP
    reads: str  # address:port of the read-only registry, with TLS
    files: str  # address:port of the file tree, with TLS
    ca: str  # PEM of the CA that signed the certificate of both


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedImage:
    """One image in a registry."""

    reference: str  # "10.90.0.2:5000/kubernetes/etcd:3.6.8-0"
    digest: str
    changed: bool  # pushed now; False: the registry had it


def push(
    registry: str,
    images: Sequence[Artifact],
    *,
    tls_verify: bool = False,
    progress: Progress = no_progress,
    dry_run: bool = False,
    way: Way | None = None,
) -> list[PushedImage]:
    """Push images to a registry, each only if the registry lacks its digest.

    ``registry``: ``address:port``, and the path of a project after it; its login is that of ``skopeo login``.
    ``tls_verify``: False for one that speaks plain HTTP. ``progress`` is called with a line per image, and repeatedly
    during a long push. ``way``: tunnel of a registry that is read-only at its public address.

    Raises GroundupError when the registry does not answer or refuses an image.
    """

    def look(image: Artifact) -> PushedImage:
        reference, wanted = f"{registry}/{image.image}", manifest_digest(image.path)
        if way:
            there = registry_digest(f"https://{way.reads}", image, ca=way.ca) == wanted
        else:
            there = _inspected(reference, tls_verify=tls_verify) == wanted
        return PushedImage(reference=reference, digest=wanted, changed=not there)

    def send(number: int, image: Artifact) -> None:
        what = f"[publish {number}/{len(images)}] {registry}/{image.image}"
        progress(what)
        if not dry_run:
            with reminder(progress, f"{what}, {image.path.stat().st_size / 2**20:.0f} MiB"):
                _push(image, f"{way.writes if way else registry}/{image.image}", tls_verify=tls_verify and not way)

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(look, images))
        lacking = [(number, image) for number, image in enumerate(images, 1) if found[number - 1].changed]
        list(pool.map(lambda one: send(*one), lacking))
    return found


def _inspected(reference: str, *, tls_verify: bool) -> str | None:
    """Return the digest of a reference, with skopeo's login; None when it has none, or the registry does not tell."""
    flags = ["--raw", f"--tls-verify={str(tls_verify).lower()}", f"docker://{reference}"]
    done = attempt(["skopeo", "--insecure-policy", "inspect", *flags], timeout=60)
    return f"sha256:{hashlib.sha256(done.stdout.encode()).hexdigest()}" if not done.returncode else None


def registry_digest(registry: str, image: Artifact, *, ca: str | None = None) -> str | None:
    """Return the digest under the image's tag in the registry at a URL, None when it has no such tag."""
    repository, _, tag = str(image.image).rpartition(":")
    url = f"{registry}/v2/{repository}/manifests/{tag}"
    try:
        status, headers, _ = ask(url, method="HEAD", accept=_ACCEPT, timeout=20, ca=ca)
    except OSError as error:
        raise _no_registry(registry, str(error)) from error
    if status not in (200, 404):
        raise _no_registry(registry, f"HTTP status {status}")
    return str(headers["Docker-Content-Digest"]) if status == 200 else None


def _push(image: Artifact, reference: str, *, tls_verify: bool) -> None:
    run(
        ["skopeo", "--insecure-policy", "copy", "--quiet", "--preserve-digests", "--retry-times=2",
         f"--dest-tls-verify={str(tls_verify).lower()}", f"oci-archive:{image.path}", f"docker://{reference}"],
        why=f"hosts pull image {image.name} from this registry only",
        remedy="look at the registry's log and at its disk",
        timeout=PUSH_TIMEOUT,
        detached=False,
    )  # fmt: skip


def _no_registry(registry: str, error: str) -> GroundupError:
    return GroundupError(
        f"the registry at {registry} does not answer as one: {error}",
        where=registry,
        why="images cannot be served to the site",
        remedy="look at the registry's service on the seed host",
    )
