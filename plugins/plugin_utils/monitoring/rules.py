"""Alert rules from the plan: one file a layer, read by vmalert and Prometheus.

Each layer also has two of its own making: a target that does not answer, and targets that nobody asks any more.
A layer's rules are two groups: those that wait for seconds are judged often.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...module_utils._host.watched import PROOF
from ..plan.types import Plan
from .alerts import ALERTS
from .jobs import JOBS, counted
from .record import AlertRecord

_OFTEN, _SELDOM = "5s", "30s"  # between two judgements
_LABEL = re.compile(r"\{(\w+)\}")


def alerts_of(plan: Plan) -> Iterator[tuple[str, AlertRecord]]:
    """Yield name and record of each alert that the site has."""
    present = counted(plan)
    for layer in dict.fromkeys([*(JOBS[name].layer for name in present), *(one.layer for one in ALERTS.values())]):
        yield from ((name, one) for name, one in ALERTS.items() if one.layer == layer and one.expression(plan))
        jobs = [name for name in present if JOBS[name].layer == layer]
        if others := [name for name in jobs if name != "node" and not JOBS[name].one_answers]:
            yield "TargetDown", _target_down(layer, others)
        for name in jobs:
            if JOBS[name].one_answers:
                yield "TargetDown", _none_answers(layer, name)
            yield "DataMissing", _data_missing(layer, name, present[name])


def rules(plan: Plan) -> dict[str, dict[str, Any]]:
    """Return the rule file of each layer."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    each = [(alert.layer, _rule(name, alert, plan)) for name, alert in alerts_of(plan)]
    for layer, rule in [*each, ("monitoring", _proof(plan))]:
        seldom = rule.get("for", "").endswith("m")
        name, interval = (f"{layer}, slow", _SELDOM) if seldom else (layer, _OFTEN)
        group = {"name": name, "interval": interval, "rules": []}
        found.setdefault(layer, {}).setdefault(name, group)["rules"].append(rule)
    return {layer: {"groups": list(groups.values())} for layer, groups in found.items()}


def _proof(plan: Plan) -> dict[str, Any]:
    """Return the alert that always fires: who finds it in Alertmanager knows that others would arrive."""
    return {
        "alert": PROOF,
        "expr": "vector(1)",
        "labels": {"site": plan.site, "layer": "monitoring", "severity": "none", "object": plan.site},
        "annotations": {
            "what": "alerts arrive", "why": "without it in Alertmanager, no other alert would be heard",
            "remedy": "nothing: it always fires, and is sent to nobody",
        },
    }  # fmt: skip


def _rule(name: str, alert: AlertRecord, plan: Plan) -> dict[str, Any]:
    # Sums have no label of their series.
    labels = {"site": plan.site, "layer": alert.layer_label(plan), "severity": alert.severity}
    return {
        "alert": name,
        "expr": alert.expression(plan),
        "for": alert.after,
        "labels": labels | ({"object": alert.object} if alert.object else {}),
        "annotations": {
            "what": _LABEL.sub(r"{{ $labels.\1 }}", alert.what),
            "why": alert.why,
            "remedy": _LABEL.sub(r"{{ $labels.\1 }}", alert.remedy),
        },
    }


def _target_down(layer: str, jobs: list[str]) -> AlertRecord:
    return AlertRecord(
        layer=layer, job=jobs[0], severity="critical",
        # Of a host that does not answer, HostDown tells.
        expr=f'up{{job=~"{"|".join(jobs)}"}} == 0 unless on (object) up{{job="node"}} == 0',
        what="{job} of {object} does not answer",
        why="it is down, or its metrics are not to be had: what it does is unseen",
        remedy="look at the service on its host (systemctl --failed); groundup.cloud.status names what else is down",
    )  # fmt: skip


def _none_answers(layer: str, job: str) -> AlertRecord:
    return AlertRecord(
        layer=layer, job=job, severity="critical", after="90s", object=job,  # a manager that takes over needs a minute
        expr=f'max(up{{job="{job}"}}) == 0',
        what=f"no target of {job} answers",
        why="its alerts cannot fire; of what it does nothing is seen",
        remedy=JOBS[job].remedy,
    )  # fmt: skip


def _data_missing(layer: str, job: str, number: int) -> AlertRecord:
    return AlertRecord(
        layer=layer, job=job, severity="critical", after="5m", object=job,
        expr=f'(count(up{{job="{job}"}}) or vector(0)) < {number}',
        what=f"fewer than {number} targets of {job} are asked",
        why="the alerts of what is not asked cannot fire",
        remedy="write the targets again (groundup.cloud.plan), and let the store read them",
    )  # fmt: skip
