"""Panels of dashboards: one record each, with what it shows, its unit, its query and the alerts that judge it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ..plan.types import Plan
from .jobs import expression

Unit = Literal["", "%", "/s", "ms", "days", "MiB", "GiB", "MiB/s"]
WINDOW = "5m"  # of rates


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelRecord:
    """One panel: a graph of one query."""

    title: str
    what: str
    job: str  # whose targets its series come from: a site without them has no such panel
    unit: Unit = ""
    expr: str | Callable[[Plan], str]  # "": this site needs none
    legend: str  # name of a line; {label} stands for a label of the series
    alerts: tuple[str, ...] = ()  # that judge what it shows

    def expression(self, plan: Plan) -> str:
        """Return its query on this site; "": the site has no such panel."""
        return expression(self.expr, job=self.job, plan=plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardRecord:
    """One dashboard."""

    title: str
    what: str
    panels: tuple[PanelRecord, ...]


def rate(metric: str, job: str, only: str = "") -> str:
    """Return how fast a counter of ``job`` grows, a second; ``only``: more matchers, each after a comma."""
    return f'rate({metric}{{job="{job}"{only}}}[{WINDOW}])'


def grown(metric: str, job: str, only: str = "") -> str:
    """Return by how much a counter of ``job`` grew within an hour."""
    return f'increase({metric}{{job="{job}"{only}}}[1h])'


def slowest(metric: str, job: str, by: str, only: str = "") -> str:
    """Return the milliseconds within which 99 of 100 were done, of a histogram in seconds."""
    return f"1000 * histogram_quantile(0.99, sum by (le, {by}) ({rate(f'{metric}_bucket', job, only)}))"


def most(number: int, query: str) -> str:
    """Return the ``number`` highest of a query: a site of 1,000 hosts has as many lines as one of ten."""
    return f"topk({number}, {query})"
