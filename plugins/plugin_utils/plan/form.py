"""Form of a site file's faults: finding (severity, name, keys, what, why, remedy), and suggestions for wrong values."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import partial

from .types import Finding, Severity

MEANT = {"ceph": "native"}  # what others call it, where the closest word would be another thing
_LISTED = 20  # at most so many choices: enough for roles, services and purposes; machines may be more


def finding(name: str, severity: Severity, *where: str) -> partial[Finding]:
    """Return a partial `Finding` about the keys ``where``; call it with ``what``, ``why`` and ``remedy``."""
    return partial(Finding, name=name, severity=severity, where=where)


def error(name: str, *where: str) -> partial[Finding]:
    return finding(name, "error", *where)


def warning(name: str, *where: str) -> partial[Finding]:
    return finding(name, "warning", *where)


def info(name: str, *where: str) -> partial[Finding]:
    return finding(name, "info", *where)


def choose(value: str, choices: Iterable[str]) -> str:
    """Return the remedy for a ``value`` that is not among ``choices``."""
    known = list(choices)
    close = [MEANT[value]] if MEANT.get(value) in known else difflib.get_close_matches(value, known, n=1)
    listed = ", ".join(known[:_LISTED]) + (", ..." if len(known) > _LISTED else "")
    return f"did you mean '{close[0]}'? One of: {listed}" if close else f"write one of: {listed or 'none is defined'}"
