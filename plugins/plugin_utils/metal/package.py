"""Pack this collection into a reproducible archive for the seed's runner."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

from ..paths import COLLECTION

PARTS = ("ansible.cfg", "meta", "playbooks", "plugins", "roles", "supply.lock")
INSIDE = Path("ansible_collections/groundup/cloud")


def packed(root: Path = COLLECTION) -> tuple[str, bytes]:
    """Return the archive's digest, and the archive."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in _files(root):
            member = tarfile.TarInfo(str(INSIDE / path.relative_to(root)))
            data = path.read_bytes()
            member.size, member.mode = len(data), 0o755 if path.stat().st_mode & 0o100 else 0o644
            tar.addfile(member, io.BytesIO(data))
    data = plain.getvalue()
    return hashlib.sha256(data).hexdigest(), gzip.compress(data, compresslevel=6, mtime=0)


def _files(root: Path) -> Iterator[Path]:
    for part in PARTS:
        found = sorted((root / part).rglob("*")) if (root / part).is_dir() else [root / part]
        yield from (path for path in found if path.is_file() and "__pycache__" not in path.parts)
