"""Reasons that are known: why a test is skipped or left out, or fails although the cloud is right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ..errors import GroundupError

SHIPPED = Path(__file__).with_name("explained.yml")
# Kind -> what an entry matches, both regular expressions.
_KINDS = {"skipped": ("reason",), "failed": ("test", "says"), "left_out": ("test",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """An entry of the file."""

    kind: str
    test: str = ""
    reason: str = ""  # of a skip
    says: str = ""  # what a failure says; "": anything
    why: str
    option: str = ""  # of tempest.conf, where the test's configuration is the cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """All entries."""

    reasons: tuple[Explanation, ...]

    def of_skip(self, text: str) -> Explanation | None:
        """Return what explains a skip with this reason."""
        return next((one for one in self._kind("skipped") if re.search(one.reason, text)), None)

    def of_failure(self, test: str, text: str) -> Explanation | None:
        """Return what explains the failure of ``test`` that says ``text``."""
        for one in self._kind("failed"):
            if re.search(one.test, test) and re.search(one.says, text):
                return one
        return None

    def left_out(self, tests: Iterable[str]) -> dict[str, str]:
        """Return the tests that are not to run, with the reason."""
        found = {test: next((r.why for r in self._kind("left_out") if re.search(r.test, test)), "") for test in tests}
        return {test: why for test, why in found.items() if why}

    def mended(self, passed: Iterable[str]) -> list[Explanation]:
        """Return entries of failures whose every test that ran passed: they can go."""
        names = list(passed)
        return [one for one in self._kind("failed") if any(re.search(one.test, name) for name in names)]

    def _kind(self, kind: str) -> Iterator[Explanation]:
        return (one for one in self.reasons if one.kind == kind)


def load(*paths: Path) -> Explained:
    """Return the entries of files, the first match wins. Raises GroundupError for one that is not in form."""
    return Explained(reasons=tuple(reason for path in paths for reason in _read(path)))


def _read(path: Path) -> Iterator[Explanation]:
    try:
        yield from _reasons(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, AttributeError, yaml.YAMLError, re.error) as error:
        raise GroundupError(
            f"the list of explained tests cannot be used: {error}",
            where=str(path),
            why="what is not explained counts as a failure",
            remedy=f"write lists {', '.join(_KINDS)} of mappings, as docs/tempest.md has them",
        ) from error


def _reasons(found: Mapping[str, Any]) -> Iterator[Explanation]:
    if more := found.keys() - _KINDS.keys():
        raise ValueError(f"it has {', '.join(sorted(more))}")
    for kind, matches in _KINDS.items():
        for entry in found.get(kind) or ():
            if more := entry.keys() - {*matches, "why", "option"}:
                raise ValueError(f"an entry of {kind} has {', '.join(sorted(more))}")
            if not entry.get(matches[0]) or not entry.get("why"):
                raise ValueError(f"an entry of {kind} needs {matches[0]} and why")
            for name in matches:
                re.compile(str(entry.get(name, "")))
            yield Explanation(kind=kind, **{name: str(value) for name, value in entry.items()})
