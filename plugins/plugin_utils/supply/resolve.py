"""Ask registries and servers for digests that supply.lock does not have, and keep them for a site."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..errors import GroundupError
from ..progress import Progress
from .builders.upstream import digest_of
from .lock.model import Lock, Source
from .lock.recorded import load, save, unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The digest of an address, now and as it was recorded."""

    artifact: str
    address: str
    digest: str | None  # None: it could not be asked
    recorded: str | None
    fault: str = ""

    @property
    def new(self) -> bool:
        """Return whether the record is to have it."""
        return self.digest is not None and self.digest != self.recorded

    def line(self) -> str:
        """Return what is said of it."""
        if self.digest is None:
            return f"{self.artifact}: {self.address} is not known: {self.fault}"
        before = f" (was {self.recorded})" if self.recorded and self.new else "" if self.new else " (as recorded)"
        return f"{self.artifact}: {self.address} -> {self.digest}{before}"


def resolve(
    lock: Lock, site: str, names: str | Iterable[str] | None, *, source: Source, again: bool, write: bool, say: Progress
) -> list[Resolution]:
    """Return the digests of what ``names`` fetch and ``lock``, the collection's own, has none of; record new ones.

    ``names``: artifacts or groups; None: all but optional. ``source``: with ``build`` only what cannot be built is
    fetched. ``again``: ask for recorded ones, too, and take what is answered. ``write``: what is answered is recorded
    even when something else is not.
    """
    recorded, found = load(site), list[Resolution]()
    wanted = lock.by(source).including(names)
    chosen = wanted.closure(wanted.select(names))
    for entry in (wanted.artifacts[name] for name in chosen if wanted.artifacts[name].builder == "upstream"):
        for address in unknown(entry):
            kept = recorded.get(address)
            found.append(_one(entry.name, address, kept, ask=again or not kept))
            say(f"[supply] {found[-1].line()}")
    if write and (new := {one.address: one.digest for one in found if one.digest and one.new}):
        save(site, {**load(site), **new})
    return found


def _one(artifact: str, address: str, recorded: str | None, *, ask: bool) -> Resolution:
    digest, fault = recorded, ""
    if ask:
        try:
            with tempfile.TemporaryDirectory() as scratch:
                digest = digest_of(address, scratch=Path(scratch))
        except GroundupError as error:
            digest, fault = None, error.what
    return Resolution(artifact=artifact, address=address, digest=digest, recorded=recorded, fault=fault)
