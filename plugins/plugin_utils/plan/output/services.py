"""The tables of services and secrets in docs/charts.md, from the records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...layers.page import with_table
from ...services import RECORDS, needs
from ...services.secrets import secrets

PAGE = "docs/charts.md"


def page(root: Path) -> str:
    """Return the page with fresh tables."""
    text = (root / PAGE).read_text(encoding="utf-8")
    for name, lines in (("services", _services()), ("secrets", _secrets())):
        text = with_table(text, name, "".join(f"{line}\n" for line in lines))
    return text


def _services() -> Iterator[str]:
    yield from ("| name | kind | starts after | public API | in this version |", "|---|---|---|---|---|")
    for record in RECORDS.values():
        api = f"`https://{record.api.host}.<domain>{record.api.path}`" if record.api else "-"
        after = ", ".join(needs(record)) or "-"
        yield f"| {record.name} | {record.kind} | {after} | {api} | {'yes' if record.values else 'no'} |"


def _secrets() -> Iterator[str]:
    yield from ("| name | what it is |", "|---|---|")
    for name, what in secrets().items():
        yield f"| `{name}` | {what} |"
