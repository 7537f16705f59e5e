"""Checks across parts of the site file. When one fails, no plan can be made."""

from __future__ import annotations

from collections.abc import Iterator

from ...layers.purposes import PURPOSES
from ...layers.roles import ROLES
from ..errors import Problem
from ..form import choose
from ..layout.context import size_of
from ..layout.names import MAX_NAMES
from ..model import Site
from ..model.machines import MachineGroup

MAX_LABEL = 63  # characters of a host name
MAX_HOSTS = 50_000  # above any known site; stops a typing error (count: 20000 in many groups) from filling the memory


def problems(site: Site) -> Iterator[Problem]:
    """Yield every reason why no plan can be made from ``site``."""
    purposes = {network.purpose or name for name, network in site.networks.items()}
    for name, network in site.networks.items():
        if network.purpose is None and name not in PURPOSES:
            reason = f"'{name}' is not a purpose, and none is written"
            yield Problem(key=f"networks.{name}.purpose", reason=reason, remedy=choose(name, PURPOSES))
    if "management" not in purposes and site.profile not in PURPOSES["management"].cidr:
        reason = f"the profile {site.profile} has no network of its own to manage hosts on"
        yield Problem(key="networks.management", reason=reason, remedy="write `networks: {management: {cidr: ...}}`")
    if site.proxy and not (site.proxy.http or site.proxy.https):
        reason, remedy = "no proxy is written", "write proxy.http or proxy.https, or leave proxy out"
        yield Problem(key="proxy", reason=reason, remedy=remedy)
    total = 0
    for name, group in site.machines.items():
        if not group.roles and name not in ROLES:
            yield Problem(
                key=f"machines.{name}.roles",
                reason=f"'{name}' is not a role, and none is written",
                remedy=choose(name, ROLES),
            )
        if group.per_rack and not (group.racks or site.racks):
            yield Problem(
                key=f"machines.{name}.per_rack",
                reason=f"{group.per_rack} machines a rack, and no racks",
                remedy=f"write the site's `racks`, or machines.{name}.racks",
            )
        if (longest := _longest(site, name, group)) > MAX_LABEL:
            yield Problem(
                key=f"machines.{name}",
                reason=f"gives its machines names of {longest} characters",
                remedy=f"shorten the group's name, or its racks': a host name has at most {MAX_LABEL} (RFC 1123)",
            )
        size = size_of(site, group)
        total += size
        if size > MAX_NAMES:
            reason = f"stands for {size} machines"
            yield Problem(
                key=f"machines.{name}", reason=reason, remedy=f"at most {MAX_NAMES} in one group: check the numbers"
            )
    if total == 0:
        yield Problem(key="machines", reason="no machine is written", remedy="write machines.control: {count: 1}")
    if total > MAX_HOSTS:
        yield Problem(
            key="machines",
            reason=f"stand for {total} machines",
            remedy=f"at most {MAX_HOSTS} in one site: check the numbers",
        )


def _longest(site: Site, name: str, group: MachineGroup) -> int:
    """Return the length of the longest generated name in the group, 0 when its names are written."""
    if group.count:
        return len(f"{name}-{group.count}")
    racks = (group.racks or site.racks) if group.per_rack else ()
    return max((len(f"{name}-{rack}-{group.per_rack}") for rack in racks), default=0)
