"""The plan with the chart values of its releases: above the plan, which reads records only, and above the services.

plan = site_plan("inventories/lab/site.yml")
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from .plan import load_site, make_plan
from .plan.types import Plan
from .services import RECORDS
from .services.parts import merge, shared_values
from .services.sizes import sizes


def site_plan(site_file: str | Path) -> Plan:
    """Return the plan of a site file, values included. Raises SiteError."""
    return with_values(make_plan(load_site(site_file)))


def with_values(plan: Plan) -> Plan:
    """Return ``plan`` with the values of every release; the site's own (`openstack.overrides`) are merged over ours."""
    size, cloud = sizes(plan), plan.openstack
    made = []
    for release in cloud.releases:
        record = RECORDS[release.name]
        values = merge(shared_values(plan, size, record), record.values(plan, size) if record.values else {})
        made.append(replace(release, values=merge(values, cloud.overrides.get(release.name, {}))))
    return replace(plan, openstack=replace(cloud, releases=tuple(made)))


def with_images(plan: Plan, images: Mapping[str, str]) -> Plan:
    """Return ``plan`` with other ``images`` (logical name -> reference), and the values made from them."""
    return with_values(replace(plan, supply=replace(plan.supply, images=dict(images))))
