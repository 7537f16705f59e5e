"""Make untrusted text safe for a terminal and for metrics, shorten long lists, align columns, lay out tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def printable(text: str) -> str:
    """Return ``text`` with unprintable characters (control characters, changes of direction) escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def few(names: Iterable[object], *, most: int = 5) -> str:
    """Return the first ``most`` of ``names``, and how many more there are."""
    found = [str(one) for one in names]
    return ", ".join(found[:most]) + (f" and {len(found) - most} more" if len(found) > most else "")


def table(*lines: Sequence[str]) -> list[str]:
    """Return a table for a terminal and a pull request, with its first line as the head."""
    cells = [[text.replace("|", "/") for text in line] for line in lines]
    wide = _widths(cells)
    made = ["| " + " | ".join(map(str.ljust, one, wide)) + " |" for one in cells]
    return [made[0], "|" + "|".join("-" * (size + 2) for size in wide) + "|", *made[1:]]


def label(text: str) -> str:
    """Return ``text`` as the value of a metric's label, without its quotes."""
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')


def gauges(told: Mapping[str, tuple[str, Iterable[str]]]) -> str:
    """Return the text of metrics for the node exporter. ``told``: what each means, and its samples."""
    return "".join(
        "\n".join([f"# HELP {name} {what}", f"# TYPE {name} gauge", *samples, ""])
        for name, (what, samples) in told.items()
    )


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a line a row, with columns of equal width."""
    wide = _widths(rows)
    return ["  ".join(map(str.ljust, row, wide)).rstrip() for row in rows]


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(row[column]) for row in rows) for column in range(len(rows[0]) if rows else 0)]
