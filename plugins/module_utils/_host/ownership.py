"""Record which site a host belongs to, and by which secrets it was set up."""

from __future__ import annotations

from pathlib import Path

from .._base import files
from .._base.changes import Changes
from .._base.errors import GroundupError

FILE = Path("/etc/groundup/site")


def belongs(changes: Changes, *, site: str, store: str) -> None:
    """Record the host's site and secrets store at the first run; refuse another site's host. Raises GroundupError."""
    mine, theirs = f"{site} {store}".strip(), _theirs()
    if theirs and store and theirs != mine:
        raise GroundupError(
            f"the host belongs to site {theirs.split()[0]}, set up with other secrets",
            where=str(FILE),
            why=f"it says '{theirs}', and this run is for '{mine}': its services would not know this run's passwords",
            remedy=f"run with the state directory it was set up from, or, if it is free to be used, remove {FILE}",
        )
    if store:
        files.place(changes, FILE, f"{mine}\n")


def refuse_other(site: str) -> None:
    """Refuse a host of another site, before the host layer records its site. Raises GroundupError."""
    theirs = _theirs().split()
    if theirs and theirs[0] != site:
        raise GroundupError(
            f"the host belongs to site {theirs[0]}",
            where=str(FILE),
            why=f"site {site} would take its place",
            remedy=f"correct the address in the site file, or, if the host is free to be used, remove {FILE}",
        )


def _theirs() -> str:
    return (files.read(FILE) or "").strip()
