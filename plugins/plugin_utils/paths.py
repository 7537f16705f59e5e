"""Directories of groundup on the controller.

Both belong to the user who runs it: a cache that may be deleted at any time (artifacts, by content), and each site's
state, which may not (secrets store, kubeconfig, volumes of lab hosts).
"""

from __future__ import annotations

import os
from pathlib import Path

COLLECTION = Path(__file__).resolve().parents[2]  # the root of the installed collection
SECRETS_IDENTITY = "secrets.pub"  # in a site's state directory: identity of its secrets, without the secrets


def cache_dir() -> Path:
    """Return the artifact cache: ``$GROUNDUP_CACHE``, else ``groundup`` in the XDG cache directory."""
    return Path(os.environ.get("GROUNDUP_CACHE") or Path(_xdg("XDG_CACHE_HOME", ".cache")) / "groundup")


def state_dir(site: str) -> Path:
    """Return the state directory of ``site``: in ``$GROUNDUP_STATE``, else ``groundup`` in the XDG state directory."""
    return Path(os.environ.get("GROUNDUP_STATE") or Path(_xdg("XDG_STATE_HOME", ".local/state")) / "groundup") / site


def _xdg(variable: str, default: str) -> str:
    return os.environ.get(variable) or str(Path.home() / default)
