"""Alerts and panels of the cloud's room, which a timer on the control node has asked for."""

from __future__ import annotations

from collections.abc import Callable

from ..plan.part_types import CapacityPlan
from ..plan.types import Plan
from .panels import DashboardRecord, PanelRecord, most
from .record import AlertRecord, last

_BY = "max by (scope, name, resource)"
_WINDOW = "7d"  # of growth
_KNOWN = "1d"  # of it, before anything is foreseen: the first instances fill no cloud


def _figure(kind: str = "", more: str = "") -> str:
    return f'{_BY} (groundup_capacity{kind}{{job="node"}}{more})'


_IN_USE = f"100 * (1 - {_figure('_free')} / {_figure()})"
ROOM = (_IN_USE, _figure("_free"), _figure())  # of each row: percent in use, what is free, what there is
_ONE = "{scope} {name} {resource}"


def _of(expr: Callable[[CapacityPlan], str]) -> Callable[[Plan], str]:
    """Return an expression of a site that asks for its room."""
    return lambda plan: expr(plan.monitoring.capacity) if plan.monitoring and plan.monitoring.capacity else ""


def _ending(asked: CapacityPlan) -> str:
    # By what is used alone: a host that is away for a while has nothing free, and is no growth.
    then = f'{_BY} (predict_linear(groundup_capacity_used{{job="node"}}[{_WINDOW}], {asked.days} * 86400))'
    return f"{then} - {_figure('_used')} > {_figure('_free')} and {_figure('_used', f' offset {_KNOWN}')}"


def _by_zone(resource: str, part: int) -> Callable[[Plan], str]:
    used = f'groundup_capacity_used{{job="node",scope="zone",resource="{resource}"}}'
    return _of(lambda _: f"max by (name) ({used})" + (f" / {part}" if part > 1 else ""))


CAPACITY_ALERTS: dict[str, AlertRecord] = {
    "CapacityFull": AlertRecord(
        layer="openstack", job="node", severity="warning", after="5m", object="capacity",
        expr=_of(lambda asked: f"{_IN_USE} > {asked.percent}"),
        what="{resource} of {scope} {name} are nearly used up",
        why="new instances, volumes or addresses are refused there soon, larger ones first",
        remedy="run groundup.cloud.capacity; add hosts or disks, enable hosts that are away, or free what nobody uses "
        "(groundup.cloud.usage names projects)",
    ),
    "CapacityEnding": AlertRecord(
        layer="openstack", job="node", severity="warning", after="5m", object="capacity",
        expr=_of(_ending),
        what="{resource} of {scope} {name} are used up soon, if they grow as in the last seven days",
        why="hardware takes weeks to come",
        remedy="run groundup.cloud.capacity, which tells growth and days; order, or free what nobody uses "
        "(groundup.cloud.usage names projects)",
    ),
    "CapacityOld": AlertRecord(
        layer="monitoring", job="node", severity="warning", after="5m", object="capacity",
        expr=lambda plan: _of(
            lambda _: f"time() - {last('groundup_capacity_looked_timestamp_seconds', plan)} > 2 * 86400"
        )(plan),
        what="the cloud's room was not asked for two days",
        why="it may fill unseen: the alerts of capacity stay as they are",
        remedy="read why: journalctl of the unit groundup-capacity-SITE on the control node",
    ),
}  # fmt: skip

CAPACITY = DashboardRecord(
    title="Capacity", what="Room for instances, volumes and addresses, as the cloud itself tells it",
    panels=(
        PanelRecord(
            title="Room in use", job="node", unit="%", legend=_ONE, alerts=("CapacityFull",),
            expr=_of(lambda _: most(20, _IN_USE)), what="of what can be given out; the twenty fullest",
        ),
        PanelRecord(
            title="Days until full", job="node", unit="days", legend=_ONE, alerts=("CapacityEnding",),
            expr=_of(
                lambda _: f'bottomk(20, {_figure("_free")} / (86400 * {_BY} '
                f'(deriv(groundup_capacity_used{{job="node"}}[{_WINDOW}]))) >= 0)'
            ),
            what="if it grows as in the last seven days; what does not grow has no line, or an endless one",
        ),
        PanelRecord(
            title="Processors given out", job="node", legend="{name}", expr=_by_zone("vcpus", 1),
            what="vCPU of instances, by zone",
        ),
        PanelRecord(
            title="Memory given out", job="node", unit="GiB", legend="{name}", expr=_by_zone("memory", 1024),
            what="of instances, by zone",
        ),
        PanelRecord(
            title="Disks given out", job="node", unit="GiB", legend="{name}", expr=_by_zone("disks", 1),
            what="that flavors of instances promise, by zone",
        ),
        PanelRecord(
            title="Last look at capacity", job="node", unit="days", legend="ago", alerts=("CapacityOld",),
            expr=_of(lambda _: '(time() - max(groundup_capacity_looked_timestamp_seconds{job="node"})) / 86400'),
            what="since the cloud was asked",
        ),
    ),
)  # fmt: skip
