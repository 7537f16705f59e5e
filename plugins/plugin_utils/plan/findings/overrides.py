"""Overrides of chart values that the built-in chart does not know: Helm takes any key, and nothing comes of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from ..form import choose, warning
from ..types import Finding

NAME = "override-unknown-key"
LIBRARY = "groundup-lib"  # chart whose values under `service` every service begins with
FREE = ("conf", "endpoints", "extraObjects")  # below them are names of options, files, services and objects
_USED = re.compile(r"\.Values\.(\w+)(?:\.(\w+))?")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Keys = dict[str, set[str]]  # key -> keys below it


def unknown(
    name: str, override: Mapping[str, Any], ours: Mapping[str, Any], charts: Path, chart: str
) -> Iterator[Finding]:
    """Yield a finding for each key of ``override`` that neither the chart nor ``ours``, the plan's values, have.

    ``name``: of the release. ``charts``: directory of the built-in charts. Two levels are compared.
    """
    known = _known(charts / chart, charts / LIBRARY)
    for key, below in _keys(ours).items():
        known.setdefault(key, set()).update(below)
    for key, value in override.items():
        path = f"openstack.overrides.{name}.values.{key}"
        if key not in known:
            yield _finding(name, path, key, known)
        elif isinstance(value, Mapping) and known[key] and key not in FREE:
            yield from (_finding(name, f"{path}.{one}", one, known[key]) for one in value if one not in known[key])


def _known(*charts: Path) -> Keys:
    found: Keys = {}
    for chart in charts:
        values: dict[str, Any] = yaml.load((chart / "values.yaml").read_bytes(), Loader=_LOADER)  # noqa: S506  # safe
        parts = [_keys(values["service"] if chart.name == LIBRARY else values)]
        for template in sorted((chart / "templates").rglob("*")):
            if template.is_file():
                for key, below in _USED.findall(template.read_text(encoding="utf-8")):
                    parts.append({key: {below} if below else set()})
        for part in parts:
            for key, names in part.items():
                found.setdefault(key, set()).update(names)
    return found


def _keys(values: Mapping[str, Any]) -> Keys:
    return {key: set(value) if isinstance(value, Mapping) else set() for key, value in values.items()}


def _finding(release: str, path: str, key: str, known: Mapping[str, Any] | set[str]) -> Finding:
    return warning("override-unknown-key", path)(
        what=f"the chart of {release} has no value {key}",
        why="Helm takes it without a word, and nothing comes of it",
        remedy=choose(key, sorted(known)),
    )
