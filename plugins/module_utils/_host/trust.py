"""The host's trust store: the site's CA among those the OS trusts."""

from __future__ import annotations

from pathlib import Path

from .._base import files
from .._base.changes import Changes
from .._base.run import run

PACKAGE = "ca-certificates"
OURS = Path("/usr/local/share/ca-certificates")
LINKS = Path("/etc/ssl/certs")
BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")


def authority(changes: Changes, certificate: str, *, site: str) -> None:
    """Have the host, which has `PACKAGE`, trust ``certificate`` (PEM; empty: nothing). Raises GroundupError."""
    if not certificate:
        return
    text = f"{certificate.strip()}\n"
    name = f"groundup-{site}"
    placed = files.place(changes, OURS / f"{name}.crt", text)
    # A run killed before the store was made anew shows here, in what programs really read.
    stale = not trusted(certificate) or not (LINKS / f"{name}.pem").exists()
    if (placed or stale) and changes.add("rebuild the trust store"):
        run(["update-ca-certificates"])


def trusted(certificate: str) -> bool:
    """Return whether ``certificate`` is in the bundle that programs read."""
    return certificate.strip() in (files.read(BUNDLE) or "")
