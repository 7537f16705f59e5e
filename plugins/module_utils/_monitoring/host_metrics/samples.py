"""Samples, and their text as Prometheus reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

PATIENCE = 4.0  # seconds for one answer: what hangs takes connections
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


def place(path: Path, samples: Iterable[Sample]) -> None:
    """Write ``samples`` for the node exporter, all or none. Raises OSError."""
    draft = path.with_name(f"{path.name}.new")  # it reads *.prom
    draft.write_text(text(samples), encoding="utf-8")
    draft.chmod(0o644)
    draft.replace(path)


def _braces(labels: Mapping[str, str]) -> str:
    inside = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels.items())
    return f"{{{inside}}}" if inside else ""
