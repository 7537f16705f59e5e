"""Add the site's CA to the host's trust store."""

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
    """Make the host trust ``certificate`` (PEM; empty: none). Needs `PACKAGE`. Raises GroundupError."""
    if not certificate:
        return
    text = f"{certificate.strip()}\n"
    name = f"groundup-{site}"
    placed = files.place(changes, OURS / f"{name}.crt", text)
    for former in sorted(OURS.glob("groundup-*.crt")):  # a first boot's
        if former.name != f"{name}.crt":
            placed |= files.remove(changes, former)
    # Check what programs really read: an earlier run may have been killed before the rebuild.
    stale = not trusted(certificate) or not (LINKS / f"{name}.pem").exists()
    if (placed or stale) and changes.add("rebuild the trust store"):
        run(["update-ca-certificates"])


def trusted(certificate: str) -> bool:
    """Return whether ``certificate`` is in the bundle that programs read."""
    return certificate.strip() in (files.read(BUNDLE) or "")
