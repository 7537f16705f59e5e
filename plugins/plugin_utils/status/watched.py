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
    targets = {target_name(one): one for one in expected(plan, without=set(without))}
    down = [name for name in found["silent"] if name in targets]
    faults = [name for name in down if not targets[name]["by_hand"]]
    if faults or found["unjudged"]:
        why = f"targets that do not answer: {few(faults)}" if faults else f"alerts do not arrive: {found['unjudged']}"
        return {**found, "state": "broken", "why": why, "remedy": f"{run_layer('monitoring')}, tag verify"}
    if down:
        remedy = "; ".join(dict.fromkeys(targets[name]["by_hand"] for name in down))
        return {**found, "state": "warning", "why": f"targets that do not answer: {few(down)}", "remedy": remedy}
    return dict(found)
