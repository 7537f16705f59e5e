"""The plan with chart values of its releases. Above both the plan, which reads only records, and the services.

plan = site_plan("inventories/lab/site.yml")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from .paths import COLLECTION
from .plan import load_site
from .plan.chart_files import ChartFile, ChartFileError, find, read_chart
from .plan.findings import extra_charts, overrides, policies
from .plan.findings.order import ordered
from .plan.types import Finding, Plan, ReleasePlan
from .services import RECORDS
from .services.network_policy import with_policy
from .services.parts import merge, shared_values
from .services.sizes import sizes
from .upgrade.journal import live_plan

BUILTIN = COLLECTION / "charts"
_ABOUT_VALUES = (*overrides.NAMES, *extra_charts.NAMES, *policies.NAMES)  # findings that are made here
_LIBRARY = "groundup-lib"  # chart whose values under `service` every built-in one begins with


def site_plan(site_file: str | Path, *, target: bool = False) -> Plan:
    """Return the plan of a site file, by the live versions while an upgrade is open, chart values included.

    ``target``: by the site file's release of OpenStack whatever is open. Raises SiteError, GroundupError.
    """
    return with_values(live_plan(load_site(site_file), target=target))


def with_values(plan: Plan) -> Plan:
    """Return ``plan`` with the values of every release. The site's `openstack.overrides` are merged over ours.

    Values that a chart does not know, and charts of the site's own that cannot be used, are findings.
    """
    size, cloud = sizes(plan), plan.openstack
    made = list[ReleasePlan]()
    found = [one for one in plan.findings if one.name not in _ABOUT_VALUES]
    for release in cloud.releases:
        if release.is_extra:
            values, said = extra_charts.read(release, cloud.extra_releases[release.name], plan.supply.images)
            made.append(replace(release, values=values))
            found += said
            continue
        record = RECORDS[release.name]
        values = merge(shared_values(plan, size, record), record.values(plan, size))
        if own := cloud.overrides.get(release.name):
            found += _unknown(release, own, values, cloud.charts)
            found += policies.check(f"openstack.overrides.{release.name}.values", release.name, own)
        values = merge(values, own or {})
        made.append(replace(release, values=with_policy(plan, record, values)))
    cloud = replace(cloud, releases=tuple(made))
    return replace(plan, openstack=cloud, findings=ordered(found, plan.hosts) if found else ())


def _unknown(release: ReleasePlan, own: Mapping[str, Any], ours: Mapping[str, Any], charts: str) -> Iterable[Finding]:
    """Return what a chart says of a site's values for it; nothing where no run has fetched it."""
    where, builtin = f"openstack.overrides.{release.name}.values", charts == "builtin"
    place = BUILTIN / release.chart if builtin else find(Path(charts), release.chart, release.version)
    try:
        if not place or "://" in charts:
            return ()
        chart = read_chart(place)
        ours = merge(read_chart(BUILTIN / _LIBRARY).values["service"], ours) if builtin else ours
    except ChartFileError:
        return ()  # the rollout says what is wrong with it
    free = overrides.BUILTIN if builtin else overrides.OPENSTACK_HELM
    return overrides.compared(where, release.name, own, chart, ours=ours, free=free)


def for_charts(plan: Plan, defaults: Callable[[ReleasePlan], Mapping[str, Any]]) -> Plan:
    """Return ``plan`` with values in the form its charts expect. ``defaults``: a chart's own, which show it."""
    made = []
    for release in plan.openstack.releases:
        spell = None if release.is_extra else RECORDS[release.name].dialect
        made.append(replace(release, values=spell(dict(release.values), defaults(release))) if spell else release)
    return replace(plan, openstack=replace(plan.openstack, releases=tuple(made)))


def remote_findings(plan: Plan, defaults: Callable[[ReleasePlan], Mapping[str, Any]]) -> Iterator[Finding]:
    """Yield what charts that only helm fetches say of the site's values: `with_values` cannot read them."""
    cloud = plan.openstack
    if "://" not in cloud.charts or not cloud.overrides:
        return
    ours = with_values(replace(plan, openstack=replace(cloud, overrides={}))).openstack.releases
    for release in ours:
        if own := cloud.overrides.get(release.name):
            chart = ChartFile(
                name=release.chart, version=release.version, values=dict(defaults(release)), used=(), charts=(),
                missing=(),
            )  # fmt: skip
            where, free = f"openstack.overrides.{release.name}.values", overrides.OPENSTACK_HELM
            yield from overrides.compared(where, release.name, own, chart, ours=release.values, free=free)


def with_images(plan: Plan, images: Mapping[str, str]) -> Plan:
    """Return ``plan`` with other ``images`` (logical name -> reference), and values made from them."""
    return with_values(replace(plan, supply=replace(plan.supply, images=dict(images))))
