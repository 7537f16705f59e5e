"""The releases of a plan: which charts, with what values, and what each needs before it starts (D1, D3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..plan.types import Plan, ReleasePlan
from . import keystone, mariadb, memcached, rabbitmq
from .common import Values
from .sizes import Sizes, sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chart:
    values: Callable[[Plan, Sizes], Values]
    needs: tuple[str, ...] = ()


# Infrastructure every service stands on, then the services: a new one is a module of its own and a line here.
_INFRASTRUCTURE = ("mariadb", "rabbitmq", "memcached")
_CHARTS: dict[str, _Chart] = {
    "mariadb": _Chart(values=mariadb.values),
    "rabbitmq": _Chart(values=rabbitmq.values),
    "memcached": _Chart(values=memcached.values),
    "keystone": _Chart(values=keystone.values, needs=("mariadb", "memcached")),
}


def releases(plan: Plan) -> tuple[ReleasePlan, ...]:
    """Return every release of ``plan``, infrastructure first and services in the order of the site file.

    ``plan.openstack.overrides`` is merged over the values: maps by key, everything else replaced. A service without a
    chart here is left out; the plan's findings speak of it.
    """
    size = sizes(plan)
    wanted = dict.fromkeys((*_INFRASTRUCTURE, *plan.openstack.services))
    return tuple(_release(plan, name, size) for name in wanted if name in _CHARTS)


def with_images(plan: Plan, images: Mapping[str, str]) -> Plan:
    """Return ``plan`` with other ``images`` (logical name -> reference), and its releases made from them."""
    plan = replace(plan, supply=replace(plan.supply, images=dict(images)))
    return replace(plan, openstack=replace(plan.openstack, releases=releases(plan)))


def _release(plan: Plan, name: str, size: Sizes) -> ReleasePlan:
    chart = _CHARTS[name]
    cloud = plan.openstack
    return ReleasePlan(
        name=name,
        chart=name,
        version=cloud.chart_versions.get(name, f"{cloud.release}.0"),
        namespace=cloud.namespace,
        needs=chart.needs,
        verify=name,
        values=merge(chart.values(plan, size), cloud.overrides.get(name, {})),
    )


def merge(values: Mapping[str, Any], over: Mapping[str, Any]) -> Values:
    """Return ``values`` with ``over`` laid upon them, as Helm does: maps are merged, anything else is replaced."""
    merged = dict(values)
    for key, value in over.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = merge(old, value) if both else value  # type: ignore[arg-type]
    return merged
