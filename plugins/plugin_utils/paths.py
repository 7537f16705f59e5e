"""Directories of groundup on the controller.

Both belong to the user who runs it: a cache that may be deleted at any time (artifacts, by content), and each site's
state, which may not (secrets store, kubeconfig, volumes of lab hosts).
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from . import state_format
from .errors import GroundupError

COLLECTION = Path(__file__).resolve().parents[2]  # the root of the installed collection
SECRETS_IDENTITY = "secrets.pub"  # in a site's state directory: identity of its secrets, without the secrets


def cache_dir() -> Path:
    """Return the artifact cache: ``$GROUNDUP_CACHE``, or XDG's. Raises GroundupError when others may write to it."""
    cache = Path(os.environ.get("GROUNDUP_CACHE") or Path(_xdg("XDG_CACHE_HOME", ".cache")) / "groundup")
    if cache.exists() and stat.S_IMODE(cache.stat().st_mode) & 0o077:
        _not_shared(cache, *cache.glob("*/"))
    return cache


def _not_shared(cache: Path, *folders: Path) -> None:
    for place in (cache, *folders):
        if place.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise GroundupError(
                "other users may write to the cache of artifacts",
                where=str(place),
                why="programs of the cache run as root on every host, and on this machine as you",
                remedy=f"build it anew in a directory of your own (GROUNDUP_CACHE); or, if nobody else wrote to it: "
                f"chmod -R go-w {cache}",
            )


def state_dir(site: str) -> Path:
    """Return the state directory of ``site``: in ``$GROUNDUP_STATE``, else ``groundup`` in the XDG state directory.

    Raises GroundupError when a newer version of the collection wrote it.
    """
    home = Path(os.environ.get("GROUNDUP_STATE") or Path(_xdg("XDG_STATE_HOME", ".local/state")) / "groundup")
    state_format.refuse_newer(home / site)
    return home / site


def _xdg(variable: str, default: str) -> str:
    return os.environ.get(variable) or str(Path.home() / default)
