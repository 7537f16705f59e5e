"""Samples, and their text as Prometheus reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

PATIENCE = 4.0  # seconds for one answer: what hangs takes connections
_LINE, _LABEL = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE), re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Sample(NamedTuple):
    """One value."""

    name: str
    value: float
    labels: Mapping[str, str] = {}


def text(samples: Iterable[Sample]) -> str:
    """Return ``samples`` as text."""
    lines = (f"{one.name}{_braces(one.labels)} {one.value:.15g}\n" for one in samples)
    return "".join(sorted(lines))  # those of one name together


def read(written: str) -> Iterator[Sample]:
    """Yield the samples that `text` has ``written``."""
    for name, inside, value in _LINE.findall(written):
        labels = {key: re.sub(r"\\(.)", _unescaped, word) for key, word in _LABEL.findall(inside)}
        yield Sample(name, float(value), labels)


def place(path: Path, samples: Iterable[Sample]) -> None:
    """Write ``samples`` for the node exporter, all or none. Raises OSError."""
    draft = path.with_name(f"{path.name}.new")  # it reads *.prom
    draft.write_text(text(samples), encoding="utf-8")
    draft.chmod(0o644)
    draft.replace(path)


def _unescaped(found: re.Match[str]) -> str:
    return "\n" if found[1] == "n" else found[1]


def _braces(labels: Mapping[str, str]) -> str:
    inside = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels.items())
    return f"{{{inside}}}" if inside else ""
