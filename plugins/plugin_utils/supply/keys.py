"""The key of an artifact: a digest of everything that decides its content.

The lock entry, the shared pins, the builder's version and source files, and the keys of what it needs. A builder's
version is a number its author raises when its output changes, so that a better comment does not rebuild Kubernetes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from .builders import builder_of
from .lock import Entry, Lock

Source = Literal["build", "upstream"]
FORMAT = 1  # of the store and of what `oci` and `context` write; raised when their output changes
# Which artifact it is and how it is found again do not change its content.
_NOT_CONTENT = {"groups", "cost", "upstream", "sha256", "provides"}


def keys(lock: Lock, names: Iterable[str], *, source: Source = "build") -> dict[str, str]:
    """Return name -> key (16 hex digits) for ``names``, which must list needs before what needs them."""
    found: dict[str, str] = {}
    for name in names:
        entry = lock.artifacts[name]
        words = _of_upstream(entry) if source == "upstream" else _of_build(lock, entry, found)
        text = json.dumps([FORMAT, source, words], sort_keys=True, separators=(",", ":"))
        found[name] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return found


def _of_upstream(entry: Entry) -> object:
    return [entry.name, entry.version, entry.upstream.model_dump() if entry.upstream else None]


def _of_build(lock: Lock, entry: Entry, found: dict[str, str]) -> object:
    builder = builder_of(entry)
    sources = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in _files(builder.sources(entry))}
    needs = {need: found[need] for need in entry.needs}
    return [lock.pins.model_dump(), entry.model_dump(exclude=_NOT_CONTENT), builder.version, sources, needs]


def _files(paths: Iterable[Path]) -> Iterable[Path]:
    for path in paths:
        yield from sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
