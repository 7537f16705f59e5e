"""Digests that a site was told, of what supply.lock names without one: asked for once, then kept in its state."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ....module_utils._base.files import write_file
from ...paths import state_dir
from ...record import read_record
from .model import Entry, Lock, Upstream

FILE = "upstream.json"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def load(site: str) -> dict[str, str]:
    """Return the record of ``site``: address -> digest; empty when there is none. Raises GroundupError."""
    found = read_record(
        state_dir(site) / FILE, _digests, what="the record of digests that this site was told",
        why="what is fetched is held against them",
        remedy="restore the file from a backup; or remove it, and ask again: -e supply_resolve=true",
    )  # fmt: skip
    return found or {}


def _digests(content: Any) -> dict[str, str]:
    if wrong := [name for name, digest in content.items() if not _DIGEST.fullmatch(str(digest))]:
        raise ValueError(f"{wrong[0]} has no digest")
    return dict(content)


def save(site: str, digests: Mapping[str, str]) -> Path:
    """Write the record of ``site`` and return its path."""
    path = state_dir(site) / FILE
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_file(path, (json.dumps(digests, indent=1, sort_keys=True) + "\n").encode(), mode=0o644)
    return path


def unknown(entry: Entry) -> Iterator[str]:
    """Yield the addresses of ``entry`` that have no digest."""
    if (upstream := entry.upstream) is not None:
        if upstream.reference and upstream.digest is None:
            yield upstream.reference
        yield from (file.url for file in upstream.files.values() if file.digest is None)


def with_recorded(lock: Lock, digests: Mapping[str, str]) -> Lock:
    """Return ``lock`` with recorded digests where it has none: its own go first."""
    found = {
        name: entry.model_copy(update={"upstream": _filled(entry.upstream, digests)})
        for name, entry in lock.artifacts.items()
        if entry.upstream is not None and not digests.keys().isdisjoint(unknown(entry))
    }
    return lock.model_copy(update={"artifacts": {**lock.artifacts, **found}}).by("build") if found else lock


def _filled(upstream: Upstream, digests: Mapping[str, str]) -> Upstream:
    files = {
        name: file.model_copy(update={"digest": file.digest or digests.get(file.url)})
        for name, file in upstream.files.items()
    }
    digest = upstream.digest or digests.get(upstream.reference or "")
    return upstream.model_copy(update={"files": files, "digest": digest})
