"""Make the plan from the site model. Pure: the same site gives the same plan, on any machine, at any time."""

from __future__ import annotations

from dataclasses import replace

from .errors import SiteError
from .findings import find
from .input import validation
from .layout.availability import enough, max_unavailable
from .layout.context import PlanContext
from .layout.machines import lay_out
from .model import Site
from .platform import parts as platform
from .platform.backups import backups
from .platform.ceph import ceph
from .platform.host import host_settings
from .platform.hypervisor import hypervisor
from .platform.identity import identity
from .platform.metal import metal, set_plane
from .platform.monitoring import monitoring
from .platform.ovn import ovn
from .platform.preflight import preflight, set_neighbours
from .platform.proxy import proxy
from .platform.resources import resources
from .types import Plan


def make_plan(site: Site) -> Plan:
    """Return the plan of ``site``, findings included. One that should not be built has a finding of severity ``error``.

    Raises SiteError when none can be made: the site file is incomplete or contradicts itself.
    """
    problems = tuple(validation.problems(site))
    if problems:
        raise SiteError(*problems, file=site.file, content=site.content)
    layout = lay_out(site)
    supply = platform.supply(layout)
    edge = platform.edge(layout)
    found = ceph(layout)
    kubernetes = platform.kubernetes(layout, edge, supply, found)
    access = platform.access(layout)
    way_out = proxy(layout, edge, supply, kubernetes)
    host = host_settings(layout, edge, supply, way_out)
    set_neighbours(layout)
    dark = metal(layout, supply)
    set_plane(layout, dark)
    plan = Plan(
        site=site.site,
        domain=site.domain,
        profile=site.profile,
        networks=layout.networks,
        hosts=layout.hosts,
        max_unavailable=max_unavailable(layout),
        enough=enough(layout),
        access=access,
        host=host,
        preflight=preflight(layout, access=access, host=host, supply=supply, kubernetes=kubernetes, edge=edge),
        supply=supply,
        kubernetes=kubernetes,
        edge=edge,
        ovn=ovn(layout),
        openstack=platform.openstack(layout),
        identity=identity(site),
        hypervisor=hypervisor(layout, found),
        metal=dark,
        ceph=found,
        proxy=way_out,
        findings=(),
        resources=resources(site),
        backups=backups(site),
        backup_directory=site.backups.directory,
        monitoring=monitoring(layout),
    )
    return replace(plan, findings=find(PlanContext(layout=layout, plan=plan)))
