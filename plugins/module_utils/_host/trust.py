"""Maintain the CAs that the host trusts beside Debian's: the site's own, and a company's."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from .._base import files
from .._base.changes import Changes
from .._base.run import run
from .._base.tls import certificates

PACKAGE = "ca-certificates"
OURS = Path("/usr/local/share/ca-certificates")
LINKS = Path("/etc/ssl/certs")
BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")


def authorities(changes: Changes, own: str, others: Iterable[str], *, site: str) -> None:
    """Make the host trust the site's CA ``own`` (PEM; empty: change nothing), and ``others``. No former ones stay.

    While the site's CA is rotated, ``own`` has two: each gets its own file, because programs that look a CA up by its
    hash find no other. Needs `PACKAGE`. Raises GroundupError.
    """
    if not own:
        return
    first, *more = certificates(own) or [own.strip()]
    wanted = {f"groundup-{site}": f"{first}\n"}
    for text in (*more, *others):
        wanted[f"groundup-{site}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"] = f"{text.strip()}\n"
    placed = [files.place(changes, OURS / f"{name}.crt", text) for name, text in wanted.items()]
    former = [path for path in sorted(OURS.glob("groundup-*.crt")) if path.stem not in wanted]  # or a first boot's
    gone = [files.remove(changes, path) for path in former]
    # Check what programs really read: an earlier run may have been killed before the rebuild.
    stale = any(not trusted(text) or not (LINKS / f"{name}.pem").exists() for name, text in wanted.items())
    if (any(placed) or any(gone) or stale or _dangling()) and changes.add("rebuild the trust store"):
        run(["update-ca-certificates"])
        for link in _dangling():  # the program removes them only when it adds another
            link.unlink()


def trusted(certificate: str) -> bool:
    """Return whether ``certificate``, one or more in PEM, is in the bundle that programs read."""
    bundle = files.read(BUNDLE) or ""
    return all(one in bundle for one in certificates(certificate) or [certificate.strip()])


def _dangling() -> list[Path]:
    """Return our links to certificates that are gone, and links by hash to those."""
    links = [path for path in LINKS.glob("*") if path.is_symlink() and not path.exists()]
    return [path for path in links if "groundup-" in f"{path.name} {path.readlink()}"]
