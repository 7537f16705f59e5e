"""Parts of the values that look the same in every chart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..plan.types import Plan
from .sizes import CONTROL_LABEL, Sizes

Values = dict[str, Any]


def images(plan: Plan, tags: Mapping[str, str]) -> Values:
    """Return ``images`` for ``tags`` (name in the chart -> image of the lock), with dep_check, from the registry."""
    wanted = {**tags, "dep_check": "dep-check"}
    return {
        "tags": {tag: plan.supply.images[image] for tag, image in sorted(wanted.items())},
        "pull_policy": "IfNotPresent",
        "local_registry": {"active": False},
    }


def node_labels(names: Iterable[str]) -> Values:
    """Return ``labels``: every workload in ``names`` runs on nodes of the control plane."""
    return {name: {"node_selector_key": CONTROL_LABEL, "node_selector_value": "enabled"} for name in names}


def anti_affinity(sizes: Sizes, *, members: int, quorum: bool) -> Values:
    """Return ``pod.affinity``: members keep off each other's host or rack.

    Strictly, for members of a ``quorum`` where there is room for all; others only prefer it, since a rolling update
    brings up one more than there are hosts or racks for.
    """
    strict = quorum and sizes.spread and members > 1
    kind = f"{'required' if strict else 'preferred'}DuringSchedulingIgnoredDuringExecution"
    return {
        "anti": {"type": {"default": kind}, "topologyKey": {"default": sizes.topology_key}, "weight": {"default": 10}}
    }


def probe(*, delay: int, period: int, timeout: int) -> Values:
    """Return one probe's settings, in seconds."""
    return {
        "enabled": True,
        "params": {"initialDelaySeconds": delay, "periodSeconds": period, "timeoutSeconds": timeout},
    }


def resources(*, memory: str, limit: str, cpu: str) -> Values:
    """Return requests and limits. No CPU limit: throttling a quorum member looks like a dead one."""
    return {"requests": {"memory": memory, "cpu": cpu}, "limits": {"memory": limit}}
