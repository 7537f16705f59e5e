"""One list of all findings: causes first, without what follows from them, and one line for many machines."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from ..types import Finding

# What an unknown name causes at what it is written for, and where it would be defined: these go when it is corrected.
FOLLOWS = {"unknown-hardware": ("network-without-port", "wiring-without-ports", "no-osds")}
_CAUSE = "unknown-"  # how the names of findings begin that others may follow from
_ORDER = {"error": 0, "warning": 1, "info": 2}
_WORD = re.compile(r"[A-Za-z0-9-]+")
_NAMED = 3  # machines that a folded finding names


def ordered(findings: Iterable[Finding], machines: Collection[str]) -> tuple[Finding, ...]:
    """Return ``findings`` for people: errors first, of those causes first, then by name.

    Findings that differ only in the name of a machine are one. ``machines``: names of all machines. The same site
    always gives the same list.
    """
    every = list(findings)
    bases = {name: [base for one in every if one.name == name for base in _bases(one)] for name in FOLLOWS}
    left = [one for one in every if not _follows(one, bases)]
    left.sort(key=lambda one: (_ORDER[one.severity], not one.name.startswith(_CAUSE), one.name, one.where, one.what))
    return tuple(_folded(left, machines))


def _bases(cause: Finding) -> Iterator[str]:
    key, *defined = cause.where
    yield key.rpartition(".")[0]
    yield from defined


def _follows(finding: Finding, bases: dict[str, list[str]]) -> bool:
    return any(
        finding.name in FOLLOWS[cause] and any(f"{where}.".startswith(f"{base}.") for where in finding.where)
        for cause, keys in bases.items()
        for base in keys
    )


def _folded(findings: Iterable[Finding], machines: Collection[str]) -> Iterable[Finding]:
    same: dict[tuple[str, ...], list[Finding]] = {}
    for one in findings:
        texts = (one.severity, one.name, one.what, one.why, one.remedy, *one.where)
        shape = (_WORD.sub(lambda word: "*" if word[0] in machines else word[0], text) for text in texts)
        same.setdefault(tuple(shape), []).append(one)
    for first, *others in same.values():
        where = tuple(dict.fromkeys(key for one in (first, *others) for key in one.where))  # the table shows the first
        yield replace(first, what=f"{first.what}; so for {_names(others, machines)}", where=where) if others else first


def _names(findings: Iterable[Finding], machines: Collection[str]) -> str:
    """Return which machines ``findings`` are about: the first few, and how many there are beside them."""
    named = [
        next((word for word in _WORD.findall(" ".join((*one.where, one.what))) if word in machines), one.where[0])
        for one in findings
    ]
    more = len(named) - _NAMED
    return ", ".join(named[:_NAMED]) + (f" and {more} more" if more > 0 else "")
