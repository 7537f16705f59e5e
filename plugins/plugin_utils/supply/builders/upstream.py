"""Not built at all: fetched as its project publishes it (``Lock.by("upstream")`` gives entries this builder)."""

from __future__ import annotations

from pathlib import Path

from ..build.context import Context
from ..lock.model import Entry
from ..lock.upstream import obtain


class Published:
    """By URL or OCI reference, with the digest of the lock."""

    version = 1

    def sources(self, entry: Entry) -> tuple[Path, ...]:
        """Nothing of this collection."""
        del entry
        return ()

    def build(self, entry: Entry, context: Context) -> None:
        """Fetch it."""
        obtain(entry, context)


BUILDER = Published()
