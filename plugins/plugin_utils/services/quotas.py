"""Default quotas of a project: OpenStack's own in small sites, more where the machines are many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .record import Values

if TYPE_CHECKING:
    from ..plan.types import Plan

UNLIMITED = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """One limit, and the option that sets it."""

    what: str
    service: str
    section: str
    option: str
    default: int  # OpenStack's
    factor: int = 1  # of the option's unit
    more: tuple[int, int] | None = None  # in profiles rack and region


def _nova(what: str, option: str, default: int, more: tuple[int, int] | None = None, *, factor: int = 1) -> Quota:
    return Quota(
        what=what, service="nova", section="quota", option=option, default=default, more=more, factor=factor
    )  # fmt: skip


def _cinder(what: str, option: str, default: int, more: tuple[int, int]) -> Quota:
    return Quota(what=what, service="cinder", section="DEFAULT", option=f"quota_{option}", default=default, more=more)


def _neutron(what: str, option: str, default: int, more: tuple[int, int] | None = None) -> Quota:
    return Quota(what=what, service="neutron", section="quotas", option=f"quota_{option}", default=default, more=more)


QUOTAS: Mapping[str, Quota] = {
    "instances": _nova("Instances", "instances", 10, (50, 100)),
    "cores": _nova("Virtual cores", "cores", 20, (200, 400)),
    "ram_gb": _nova("Memory of instances, GiB", "ram", 50, (400, 800), factor=1024),
    "key_pairs": _nova("Key pairs of a user", "key_pairs", 100),
    "server_groups": _nova("Server groups", "server_groups", 10, (50, 50)),
    "server_group_members": _nova("Instances of a server group", "server_group_members", 10, (50, 50)),
    "volumes": _cinder("Volumes", "volumes", 10, (50, 100)),
    "volume_gb": _cinder("Volumes and snapshots, GiB", "gigabytes", 1000, (5000, 10000)),
    "snapshots": _cinder("Snapshots of volumes", "snapshots", 10, (50, 100)),
    "backups": _cinder("Backups of volumes", "backups", 10, (50, 100)),
    "backup_gb": _cinder("Backups of volumes, GiB", "backup_gigabytes", 1000, (5000, 10000)),
    "networks": _neutron("Networks", "network", 100),
    "subnets": _neutron("Subnets", "subnet", 100),
    "ports": _neutron("Ports", "port", 500, (1000, 2000)),
    "routers": _neutron("Routers", "router", 10),
    "floating_ips": _neutron("Floating IP addresses", "floatingip", 50),
    "security_groups": _neutron("Security groups", "security_group", 10, (50, 50)),
    "security_group_rules": _neutron("Rules of security groups", "security_group_rule", 100, (500, 500)),
}
_LARGE = ("rack", "region")


def defaults(profile: str) -> dict[str, int]:
    """Return the quotas of a project in a site of ``profile``."""
    place = _LARGE.index(profile) if profile in _LARGE else None
    return {name: one.more[place] if one.more and place is not None else one.default for name, one in QUOTAS.items()}


def values(plan: Plan, service: str) -> Values:
    """Return `conf` of a service with quotas; {} for others."""
    conf: dict[str, dict[str, int | bool]] = {}
    for name, value in plan.openstack.quotas.items():
        one = QUOTAS[name]
        if one.service == service:
            conf.setdefault(one.section, {})[one.option] = value if value == UNLIMITED else value * one.factor
    if service == "cinder":
        conf["DEFAULT"]["use_default_quota_class"] = False  # what its first migration wrote would win for ever
    return {service: conf} if conf else {}
