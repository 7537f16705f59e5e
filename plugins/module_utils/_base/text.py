"""Make untrusted text safe for a terminal and for metrics, and shorten long lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def printable(text: str) -> str:
    """Return ``text`` with unprintable characters (control characters, changes of direction) escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def few(names: Iterable[object], *, most: int = 5) -> str:
    """Return the first ``most`` of ``names``, and how many more there are."""
    found = [str(one) for one in names]
    return ", ".join(found[:most]) + (f" and {len(found) - most} more" if len(found) > most else "")


def label(text: str) -> str:
    """Return ``text`` as the value of a metric's label, without its quotes."""
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')


def gauges(told: Mapping[str, tuple[str, Iterable[str]]]) -> str:
    """Return the text of metrics for the node exporter. ``told``: what each means, and its samples."""
    return "".join(
        "\n".join([f"# HELP {name} {what}", f"# TYPE {name} gauge", *samples, ""])
        for name, (what, samples) in told.items()
    )
