"""A set of the bucket, copied beside the others of the site: from there it is restored like them."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from ...plan.types import Plan
from ...vault import open_store
from ..sets import target
from ..sets.disk import WRITING, SetShelf, writer_of
from ..sets.s3 import SCHEME, BucketSets, target_of
from ..sets.write import alone


def fetched(plan: Plan, shelf: SetShelf, source: str) -> str:
    """Return ``source``; of a set in the bucket (`s3:NAME`) its name here. Raises GroundupError."""
    name = source.removeprefix(SCHEME)
    if name == source or name in shelf.names():
        return name
    bucket = BucketSets(target_of(plan, source), open_store(plan.site, write=False))
    name, home = bucket.choose(name), shelf.home
    if name not in shelf.names():
        target.refuse_away(plan.site, home)
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with alone(plan.site), TemporaryDirectory(dir=home, prefix=WRITING, suffix=writer_of(home)) as copied:
            bucket.fetch(name, Path(copied)).rename(home / name)
    return name
