"""Read advisories, hold artifacts and hosts against them, and tell what is affected and which version fixes it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ....module_utils._base.text import aligned, few, printable
from ...errors import GroundupError
from ..cache.store import ArtifactStore
from ..lock.model import Lock
from ..make.keys import keys
from ..make.sbom import components_of
from . import debian, osv
from .match import Match, Unknown
from .parts import Part, host_parts, parts

_REMEDY = (
    "give https://security-tracker.debian.org/tracker/data/json as a file, or OSV records: a file of one, a list of "
    "them, or a directory of such files"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What is affected, and what is not known."""

    affected: tuple[Match, ...]
    unknown: tuple[Unknown, ...]
    parts: int

    @property
    def code(self) -> int:
        """Return the exit code: 1 something is affected, 2 nothing is, as far as is known, 0 nothing is."""
        return 1 if self.affected else 2 if self.unknown else 0

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each advisory and package, with all that hold it."""
        found: dict[tuple[str, ...], dict[str, None]] = defaultdict(dict)
        for one in self.affected:
            shown = one.part.package if one.part.ecosystem != "Debian" else one.part.name
            found[one.advisory, shown, one.part.version, one.fixed][one.part.holder] = None
        return [
            {"advisory": advisory, "package": package, "version": version, "fixed": fixed, "where": list(holders)}
            for (advisory, package, version, fixed), holders in sorted(found.items())
        ]

    def text(self) -> str:
        """Return a table of what is affected, a line for each thing unknown, and a sum."""
        table = [("ADVISORY", "PACKAGE", "VERSION", "FIXED IN", "WHERE")]
        rows = self.rows()
        table += [
            (
                row["advisory"],
                row["package"],
                row["version"],
                row["fixed"] or "no release yet",
                few(row["where"], most=3),
            )
            for row in rows
        ]
        reasons: dict[str, dict[str, None]] = defaultdict(dict)
        for one in self.unknown:
            reasons[one.why].update(dict.fromkeys(one.holders))
        said = [f"not known: {why} ({few(holders, most=3)})" for why, holders in reasons.items()]
        fixable = sum(bool(row["fixed"]) for row in rows)
        total = (
            f"{self.parts} packages: {len(rows)} affected, {fixable} of them fixed by a release; {len(said)} not known"
        )
        return "\n".join(printable(line) for line in [*(aligned(table) if rows else []), *said, total])


def report(
    lock: Lock,
    files: Iterable[Path],
    *,
    names: Iterable[str] | None = None,
    hosts: Iterable[Mapping[str, str]],
    silent: Iterable[str] = (),
) -> Report:
    """Return what the advisories in ``files`` say of the artifacts ``names`` (None: all) and ``hosts``.

    ``silent``: hosts that were asked for their packages, and did not answer.

    Raises GroundupError for a file that is no list of advisories, and when there is nothing to look at.
    """
    unknown: list[Unknown] = []
    installed = [*_artifact_parts(lock, names, unknown), *host_parts(hosts)]
    if unheard := tuple(f"host {name}" for name in silent):
        unknown.append(Unknown(holders=unheard, why="hosts that did not say what is installed"))
    vague = [part.holder for part in installed if not part.exact]
    if vague:
        why = "bills without source packages, made by an older version; make them again: ci/supply build --rebuild NAME"
        unknown.append(Unknown(holders=tuple(dict.fromkeys(vague)), why=why))
    if not installed:
        raise GroundupError(
            "there is nothing to hold against the advisories",
            where="the cache of artifacts; option hosts",
            why="no artifact that was asked for is built, and no host was given",
            remedy="ci/supply build; or name an artifact that is built: ci/supply list",
        )
    affected: list[Match] = []
    for path in files:
        for one in _matches(installed, path):
            (affected if isinstance(one, Match) else unknown).append(one)  # type: ignore[arg-type]  # by its type
    return Report(affected=tuple(affected), unknown=tuple(unknown), parts=len(set(installed)))


def _artifact_parts(lock: Lock, names: Iterable[str] | None, unknown: list[Unknown]) -> Iterator[Part]:
    """Yield the parts of built artifacts; note which are not built, and images and roots whose bill lists nothing."""
    store, found, wanted = ArtifactStore(), keys(lock, lock.closure(tuple(lock.artifacts))), set(lock.select(names))
    unbuilt, empty = [], []
    for name, entry in lock.artifacts.items():
        if names is not None and name not in wanted:
            continue
        artifact = store.find(entry, found[name])
        if artifact is None:
            unbuilt += [name] if name in wanted else []
            continue
        components = components_of(artifact.sbom) if artifact.sbom.exists() else []
        if not components and entry.kind != "files":
            empty.append(name)
        yield from parts(name, components)
    for holders, why in ((unbuilt, "artifacts that are not built"), (empty, "artifacts whose bill lists nothing")):
        if holders:
            unknown.append(Unknown(holders=tuple(holders), why=why))


def _matches(installed: list[Part], path: Path) -> list[Match | Unknown]:
    places = sorted(path.rglob("*.json")) if path.is_dir() else [path]
    if not places:
        raise _unread(path, "the directory has no file *.json")
    found: list[Match | Unknown] = []
    for place in places:
        try:
            content = json.loads(place.read_text(encoding="utf-8"))
            if isinstance(content, dict) and "id" not in content:
                found += debian.matches(installed, content)
            else:
                found += osv.matches(installed, content if isinstance(content, list) else [content])
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise _unread(place, f"{where + ': ' if where else ''}{first['msg']}") from error
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise _unread(place, f"{type(error).__name__}: {error}") from error
    return found


def _unread(path: Path, why: str) -> GroundupError:
    return GroundupError(
        f"it is no list of advisories: {printable(why[:300])}",
        where=str(path),
        why="nothing could be said of what is installed",
        remedy=_REMEDY,
    )
