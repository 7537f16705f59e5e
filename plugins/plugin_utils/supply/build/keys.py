"""The key of an artifact: a digest of everything that decides its content.

The lock entry, the shared pins, the builder's version and source files, and the keys of what it needs. A builder's
version is a number its author raises when its output changes, so that a better comment does not rebuild Kubernetes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..lock.model import Entry, Lock
from .builder import builder_of

_FORMAT = (1, "build")  # of the store and of what `oci` and `tarball` write; changed when their output changes
# Which artifact it is and how it is found again do not change its content.
_NOT_CONTENT = {"groups", "cost", "upstream", "sha256", "provides", "optional"}


def keys(lock: Lock, names: Iterable[str]) -> dict[str, str]:
    """Return name -> key (16 hex digits) for ``names``, which must list needs before what needs them."""
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
    """Yield every file of ``paths``, directories searched, under a name that does not depend on where it lies."""
    for path in paths:
        for file in sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]:
            yield file.relative_to(path).as_posix() if path.is_dir() else path.name, file
