"""Compute the key of an artifact: a digest of everything its content depends on.

That is the lock entry, the shared pins, the builder's version and source files, and the keys of needed artifacts. A
builder's version is a number its author raises when the output changes, so that a new comment does not rebuild
Kubernetes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..lock.model import Entry, Lock
from .builder import builder_of

_FORMAT = (1, "build")  # of the store and of the output of `oci` and `tarball`; change it when their output changes
# Fields for selection and publishing do not change the content.
_NOT_CONTENT = {"groups", "cost", "upstream", "sha256", "provides", "optional", "serves"}


def keys(lock: Lock, names: Iterable[str]) -> dict[str, str]:
    """Return name -> key (16 hex digits) for ``names``, which must be in dependency order."""
    found: dict[str, str] = {}
    for name in names:
        entry = lock.artifacts[name]
        text = json.dumps([*_FORMAT, _of_build(lock, entry, found)], sort_keys=True, separators=(",", ":"))
        found[name] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return found


def _of_build(lock: Lock, entry: Entry, found: dict[str, str]) -> object:
    builder = builder_of(entry)
    sources = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in _files(builder.sources(entry))}
    needs = {need: found[need] for need in entry.needs}
    return [lock.pins.model_dump(), entry.model_dump(exclude=_NOT_CONTENT), builder.version, sources, needs]


def _files(paths: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    """Yield every file of ``paths``, also inside directories, with a name that does not depend on its location."""
    for path in paths:
        for file in sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]:
            yield file.relative_to(path).as_posix() if path.is_dir() else path.name, file
