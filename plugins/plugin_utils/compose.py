"""The plan with chart values of its releases. Above both the plan, which reads only records, and the services.

plan = site_plan("inventories/lab/site.yml")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from .paths import COLLECTION
from .plan import load_site, make_plan
from .plan.findings import overrides
from .plan.findings.order import ordered
from .plan.types import Plan, ReleasePlan
from .services import RECORDS
from .services.network_policy import with_policy
from .services.parts import merge, shared_values
from .services.sizes import sizes


def site_plan(site_file: str | Path) -> Plan:
    """Return the plan of a site file, chart values included. Raises SiteError."""
    return with_values(make_plan(load_site(site_file)))


def with_values(plan: Plan) -> Plan:
    """Return ``plan`` with the values of every release. The site's `openstack.overrides` are merged over ours.

    Overrides that a built-in chart does not know are findings.
    """
    size, cloud = sizes(plan), plan.openstack
    made, found = [], [one for one in plan.findings if one.name != overrides.NAME]
    for release in cloud.releases:
        record = RECORDS[release.name]
        values = merge(shared_values(plan, size, record), record.values(plan, size))
        if (own := cloud.overrides.get(release.name)) and cloud.charts == "builtin":
            found += overrides.unknown(release.name, own, values, COLLECTION / "charts", release.chart)
        values = merge(values, own or {})
        made.append(replace(release, values=with_policy(plan, record, values)))
    cloud = replace(cloud, releases=tuple(made))
    return replace(plan, openstack=cloud, findings=ordered(found, plan.hosts) if found else ())


def for_charts(plan: Plan, defaults: Callable[[ReleasePlan], Mapping[str, Any]]) -> Plan:
    """Return ``plan`` with values in the form its charts expect. ``defaults``: a chart's own, which show it."""
    made = []
    for release in plan.openstack.releases:
        spell = RECORDS[release.name].dialect
        made.append(replace(release, values=spell(dict(release.values), defaults(release))) if spell else release)
    return replace(plan, openstack=replace(plan.openstack, releases=tuple(made)))


def with_images(plan: Plan, images: Mapping[str, str]) -> Plan:
    """Return ``plan`` with other ``images`` (logical name -> reference), and values made from them."""
    return with_values(replace(plan, supply=replace(plan.supply, images=dict(images))))
