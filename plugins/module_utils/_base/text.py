"""Text that others wrote, as a terminal may show it."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return ``text`` with what no terminal should be told (control characters, changes of direction) as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
