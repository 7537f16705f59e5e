"""An alert, in the words of the failure cards: layer, object, what, why, remedy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ..layers.layers import LAYERS
from ..plan.types import Plan
from .jobs import expression

Severity = Literal["critical", "warning"]
# What serves nobody: a restart of half a minute is not told, and what lasts is told within 90 s (docs/monitoring.md).
OUTAGE = "45s"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRecord:
    """One alert. Nothing in it is guessed from what happens to be there."""

    layer: str
    by_namespace: bool = False  # whether it is of the layer `openstack` in OpenStack's own namespace
    job: str  # whose targets its series come from: a site without them has no such alert
    severity: Severity
    expr: str | Callable[[Plan], str]  # "": this site needs none
    after: str = OUTAGE  # how long it must hold; in minutes: nobody waits for it
    object: str = ""  # at fault; "": the series' own label `object`
    what: str  # ``{label}`` stands for a label of the series
    why: str
    remedy: str

    @property
    def layers(self) -> tuple[str, ...]:
        """Return the layers that it may be told in."""
        return (self.layer, "openstack") if self.by_namespace else (self.layer,)

    def layer_label(self, plan: Plan) -> str:
        """Return its label `layer`: a template, where that follows from its series."""
        if not self.by_namespace:
            return self.layer
        own, other = plan.openstack.namespace, self.layer
        return f'{{{{ if eq $labels.namespace "{own}" }}}}openstack{{{{ else }}}}{other}{{{{ end }}}}'

    def expression(self, plan: Plan) -> str:
        """Return its expression on this site; "": the site has no such alert."""
        if LAYERS[self.layer].service not in (None, *plan.openstack.services):
            return ""
        return expression(self.expr, job=self.job, plan=plan)


def named(expr: str, label: str) -> str:
    """Return ``expr`` with its ``label`` as the object."""
    return f'label_replace({expr}, "object", "$1", "{label}", "(.+)")'


def last(metric: str, plan: Plan) -> str:
    """Return when ``metric`` says that something was done last; 0: the monitoring host answers and does not tell it."""
    host = plan.monitoring.host if plan.monitoring else ""
    return f'(max({metric}) or max(up{{job="node",object="{host}"}} == 1) - 1)'


def of_lost_hosts(label: str, value: str = "$1") -> str:
    """Return the hosts that do not answer, by ``value`` in ``label``: of what is on them, `HostDown` tells."""
    return f'label_replace(up{{job="node"}} == 0, "{label}", "{value}", "object", "(.+)")'
