"""Findings of the plan: one module per subject, whose `check` yields findings. New ones are found by file name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from ..layout.context import PlanContext
from ..types import Finding
from .order import ordered

# `compose` asks the others: they concern the values of charts, which a listing of hosts does not read.
_OF_VALUES = {"extra_charts", "overrides", "policies"}
_NAMES = {path.stem for path in Path(__file__).parent.glob("[a-z]*.py")} - _OF_VALUES - {"order"}
SUBJECTS = [import_module(f"{__name__}.{name}") for name in sorted(_NAMES)]


def find(context: PlanContext) -> tuple[Finding, ...]:
    """Return all findings, as `order.ordered` puts them."""
    found = list(context.layout.findings)
    for subject in SUBJECTS:
        found += subject.check(context)
    return ordered(found, context.plan.hosts)
