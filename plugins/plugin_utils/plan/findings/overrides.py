"""Values that a chart does not know, or knows as something else: Helm takes any key, and nothing comes of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..chart_files import ChartFile, Keys, keys_of, merged
from ..form import choose, warning
from ..types import Finding

NAMES = ("override-unknown-key", "override-wrong-type")
_DEPTH = 3  # levels that are compared; further down are names of components, options and objects
# Such maps of OpenStack-Helm's charts and of the built-in ones: the second have no list of files, either.
OPENSTACK_HELM = (
    ("endpoints",), ("extraObjects",), ("annotations",), ("bootstrap", "*"), ("conf", "*"), ("secrets", "*"),
    ("pod", "labels"), ("pod", "annotations"), ("pod", "tolerations"), ("pod", "mounts"), ("pod", "env"),
)  # fmt: skip
BUILTIN = (*OPENSTACK_HELM, ("conf",))


def compared(
    where: str, release: str, values: Mapping[str, Any], chart: ChartFile, *, ours: Mapping[str, Any],
    free: Iterable[tuple[str, ...]] | None = None,
) -> Iterator[Finding]:  # fmt: skip
    """Yield a finding for each of ``values``, written at ``where``, that neither the chart nor ``ours`` has.

    ``ours``: the plan's values. ``free``: ways of maps whose keys are names that nobody knows beforehand, with `*` for
    any key; None: maps that its templates hand on as a whole, () if that is all of them. A map that the chart leaves
    empty takes any key, too.
    """
    free = chart.used if free is None else free
    known = merged(chart.known, keys_of(ours))
    yield from _level(where, release, values, known, chart.values, way=(), free=free)


def _level(
    where: str, release: str, values: Mapping[str, Any], known: Keys, defaults: Any, *,
    way: tuple[str, ...], free: Iterable[tuple[str, ...]],
) -> Iterator[Finding]:  # fmt: skip
    for key, value in values.items():
        here, path = (*way, key), f"{where}.{key}"
        if key not in known and here not in free and () not in free:
            yield warning("override-unknown-key", path)(
                what=f"the chart of {release} has no value {'.'.join(here)}",
                why="Helm takes it without a word, and nothing comes of it",
                remedy=choose(key, sorted(known)),
            )
            continue
        default = defaults.get(key) if isinstance(defaults, Mapping) else None
        text = ("conf",) in free and here[:-1] == ("conf",)  # a file of a built-in chart is a map, or its text
        if (wrong := _differs(value, default)) and not (text and list not in map(type, (value, default))):
            yield warning("override-wrong-type", path)(
                what=f"{'.'.join(here)} of the chart of {release} is {_kind(default)}, here it is {_kind(value)}",
                why=wrong,
                remedy=f"write {_kind(default)}"
                + (f" of: {', '.join(map(str, default))}" if isinstance(default, Mapping) else ""),
            )
        elif isinstance(value, Mapping) and known.get(key) and len(here) < _DEPTH and not _is_open(here, free):
            yield from _level(path, release, value, known[key], default, way=here, free=free)


def _differs(value: Any, default: Any) -> str:
    """Return what comes of a value of another kind than the chart's, "" when it is of that kind."""
    if value is None or not default or (isinstance(value, Mapping) and value.keys() & {"$secret", "$image"}):
        return ""  # nothing, and what is put in later; an empty default tells no kind
    if isinstance(default, Mapping) != isinstance(value, Mapping):
        return "Helm drops one of the two, or the template fails"
    return "the template reads it the other way" if isinstance(default, list) != isinstance(value, list) else ""


def _kind(value: Any) -> str:
    return "a mapping" if isinstance(value, Mapping) else "a list" if isinstance(value, list) else "a single value"


def _is_open(way: tuple[str, ...], free: Iterable[tuple[str, ...]]) -> bool:
    return any(len(way) >= len(one) and all(a in ("*", b) for a, b in zip(one, way, strict=False)) for one in free)
