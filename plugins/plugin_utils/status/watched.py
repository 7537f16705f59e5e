"""The state of monitoring, by what its host says and by which other hosts answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...module_utils._base.text import few
from ...module_utils._monitoring.verify import target_name
from ..monitoring.targets import expected
from ..plan.types import Plan
from .rows import run_layer


def judged(plan: Plan, found: Mapping[str, Any], *, without: Iterable[str]) -> dict[str, Any]:
    """Return the part ``found`` with its state. Hosts ``without`` an answer have rows of their own."""
    if "silent" not in found:
        return dict(found)
    targets = {target_name(one) for one in expected(plan, without=set(without))}
    down = [name for name in found["silent"] if name in targets]
    if down or found["unjudged"]:
        why = f"targets that do not answer: {few(down)}" if down else f"alerts do not arrive: {found['unjudged']}"
        return {**found, "state": "broken", "why": why, "remedy": f"{run_layer('monitoring')}, tag verify"}
    return dict(found)
