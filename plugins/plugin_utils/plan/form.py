"""The form of a finding: severity, name and keys first, then what, why and remedy."""

from __future__ import annotations

from functools import partial

from .types import Finding, Severity


def finding(name: str, severity: Severity, *where: str) -> partial[Finding]:
    """Return what takes ``what``, ``why`` and ``remedy`` and makes the finding ``name`` about the keys ``where``."""
    return partial(Finding, name=name, severity=severity, where=where)


def error(name: str, *where: str) -> partial[Finding]:
    """Return a `finding` of severity error."""
    return finding(name, "error", *where)


def warning(name: str, *where: str) -> partial[Finding]:
    """Return a `finding` of severity warning."""
    return finding(name, "warning", *where)


def info(name: str, *where: str) -> partial[Finding]:
    """Return a `finding` of severity info."""
    return finding(name, "info", *where)
