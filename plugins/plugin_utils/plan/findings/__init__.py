"""Everything the plan can notice about a site: one small module a subject, each a generator of findings."""

from __future__ import annotations

from ..draft import Draft
from ..types import Finding

_ORDER = {"error": 0, "warning": 1, "info": 2}


def find(draft: Draft) -> tuple[Finding, ...]:
    """Return all findings, errors first, then by name: the same site always gives the same list."""
    found = list(draft.layout.findings)
    return tuple(
        sorted(found, key=lambda finding: (_ORDER[finding.severity], finding.name, finding.where, finding.what))
    )
