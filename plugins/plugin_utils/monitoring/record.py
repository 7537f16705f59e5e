"""An alert, in the words of the failure cards: layer, object, what, why, remedy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ..layers.layers import LAYERS
from ..plan.types import Plan
from .jobs import expression

Severity = Literal["critical", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRecord:
    """One alert. Nothing in it is guessed from what happens to be there."""

    layer: str
    job: str  # whose targets its series come from: a site without them has no such alert
    severity: Severity
    expr: str | Callable[[Plan], str]  # "": this site needs none
    after: str  # how long it must hold
    object: str = ""  # at fault; "": the series' own label `object`
    what: str  # ``{label}`` stands for a label of the series
    why: str
    remedy: str

    def expression(self, plan: Plan) -> str:
        """Return its expression on this site; "": the site has no such alert."""
        if LAYERS[self.layer].service not in (None, *plan.openstack.services):
            return ""
        return expression(self.expr, job=self.job, plan=plan)


def named(expr: str, label: str) -> str:
    """Return ``expr`` with its ``label`` as the object."""
    return f'label_replace({expr}, "object", "$1", "{label}", "(.+)")'
