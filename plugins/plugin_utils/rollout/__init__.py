"""The release graph: render, diff, gate, apply, watch, heal, explain, verify.

Scope: Helm releases of one plan on one cluster, from the controller. What the releases are is the plan's word
(`plan.openstack.releases`); this package carries it out and says what it saw.
"""

from __future__ import annotations

from .engine import Rollout, diff_text
from .helm import Helm
from .kube import Api
from .options import Options
from .process import Processes
from .types import GateRefusedError, InterruptedRolloutError, RolloutError, RolloutResult

__all__ = [
    "Api",
    "GateRefusedError",
    "Helm",
    "InterruptedRolloutError",
    "Options",
    "Processes",
    "Rollout",
    "RolloutError",
    "RolloutResult",
    "diff_text",
]
