"""Services: one module each, whose record ``SERVICE`` holds everything particular to the service.

New modules are discovered automatically. The plan, the rollout, the secrets, the tests and the docs read the records.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Literal

from .record import Facility, ServiceRecord

RECORDS: dict[str, ServiceRecord] = {}  # infrastructure first, then by name


def of_kind(kind: Literal["infrastructure", "service"]) -> list[ServiceRecord]:
    return [record for record in RECORDS.values() if record.kind == kind]


def provider(facility: Facility) -> ServiceRecord:
    """Return the infrastructure that provides ``facility``."""
    return next(record for record in RECORDS.values() if record.provides == facility)


def needs(record: ServiceRecord) -> tuple[str, ...]:
    """Return all releases that must verify before that of ``record`` starts."""
    return (*(provider(facility).name for facility in record.uses), *record.needs)


def _discover() -> None:
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem != "__init__")
    found = [getattr(import_module(f"{__name__}.{name}"), "SERVICE", None) for name in names]
    records = [record for record in found if isinstance(record, ServiceRecord)]
    RECORDS.update((record.name, record) for record in sorted(records, key=lambda record: record.kind))


_discover()
