"""Make untrusted text safe for a terminal, shorten long lists, align columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def printable(text: str) -> str:
    """Return ``text`` with unprintable characters (control characters, changes of direction) escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def few(names: Iterable[object], *, most: int = 5) -> str:
    """Return the first ``most`` of ``names``, and how many more there are."""
    found = [str(one) for one in names]
    return ", ".join(found[:most]) + (f" and {len(found) - most} more" if len(found) > most else "")


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a line a row, with columns of equal width."""
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, wide)).rstrip() for row in rows]
