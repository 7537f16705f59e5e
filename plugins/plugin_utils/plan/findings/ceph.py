"""Ceph: devices, copies, monitors and the Debian release; and a Ceph run by others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from ....module_utils._plan.ceph import CephPlan
from ...layers.storage import BACKENDS, CLIENTS, POOLS
from ..device_names import overlap
from ..form import choose, error, finding, warning
from ..layout.context import PlanContext
from ..platform.ceph import DEBIAN, clients_of
from ..types import Finding
from .domains import domains_of

_MOVES = re.compile(r"/dev/(sd|hd|vd|xvd|nvme|mmcblk)")  # names in the order in which disks are found


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about OSDs, monitors, pools without enough OSDs, and the Debian release."""
    ceph = context.plan.ceph
    yield from _external(context)
    if not ceph:
        return
    hosts = context.layout.with_role("storage")
    for kind in (kind for kind, osds in ceph.osds.items() if not osds):
        yield error("no-osds", f"hardware.{kind}.osds")(
            what=f"storage hosts of hardware {kind} have no OSD",
            why="a disk that the site file does not name is never taken, so that none with data is",
            remedy=f"write hardware.{kind}.osds: [{{device: /dev/disk/by-path/...}}], and that hardware in the group",
        )
    yield from _devices(ceph)
    monitors = context.site.storage.monitors
    named, known = monitors if isinstance(monitors, list) else [], [host.name for host in hosts]
    for name in dict.fromkeys(named):
        if name not in known or named.count(name) > 1:
            yield error("monitor-without-host", "storage.monitors")(
                what=f"storage.monitors names {name} " + ("twice" if name in known else "and no storage host is that"),
                why="a monitor is on a storage host, and there once",
                remedy="leave one out" if name in known else choose(name, known),
            )
    files = [kind for kind, osds in ceph.osds.items() if any(one.device is None for one in osds)]
    orchestrated = BACKENDS[ceph.backend].orchestrated
    if files and (context.layout.profile.production or orchestrated):
        severe = context.layout.profile.large or orchestrated
        yield finding("osd-in-a-file", "error" if severe else "warning", *(f"hardware.{kind}.osds" for kind in files))(
            what=f"OSDs of hardware {', '.join(files)} are files, in a site of profile {context.site.profile}",
            why=f"{ceph.backend} takes devices alone"
            if orchestrated
            else "they share the system's disk: it fills, slows and dies for both (laptop Ceph)",
            remedy="write device: /dev/disk/by-path/..., one a disk",
        )
    rules = {rule.name: rule for rule in ceph.rules}
    for purpose, pool in ceph.pools.items():
        if pool.rule not in rules:
            continue  # an external cluster has no rules here
        rule = rules[pool.rule]
        have = len(domains_of(context, hosts, rule.failure_domain, device_class=rule.device_class))
        if pool.replicas > have and any(ceph.osds.values()):
            yield error("pool-without-devices", f"storage.pools.{purpose}", "hardware")(
                what=f"pool {pool.name}: {pool.replicas} copies on {rule.device_class}, no two in one "
                f"{rule.failure_domain}, and such OSDs in {have}",
                why="Ceph would place too few copies, and the layer would wait for it in vain",
                remedy=f"give {pool.replicas} {rule.failure_domain}s OSDs of device_class {rule.device_class}, or "
                f"write storage.pools.{purpose}.device_class",
            )
        if pool.replicas == 1:
            yield error("one-copy", f"storage.pools.{purpose}.replicas", "storage.replicas")(
                what=f"pool {pool.name} has one copy of each object",
                why="the loss of one disk loses data, and Ceph itself refuses such a pool unless it is told twice",
                remedy="write 3, or 2 where a lost disk may stop writes",
            )
    for purpose, written in context.site.storage.pools.items():
        if written.name and purpose in POOLS and POOLS[purpose].name not in ("", written.name):
            yield error("pool-name-fixed", f"storage.pools.{purpose}.name")(
                what=f"the pool of {purpose} is called {POOLS[purpose].name}, not {written.name}",
                why="object gateways know their pools by these names, and would make others beside yours",
                remedy="leave the name out",
            )
    if DEBIAN not in context.site.hosts.debian_releases:
        use = (
            "control hosts and hypervisors need the client of the Ceph that others run"
            if ceph.backend == "external"
            else "Debian 12 has another release of Ceph, whose daemons are no cluster with these"
        )
        yield error("ceph-needs-debian", "hosts.debian_releases", "storage.backend")(
            what=f"hosts of Debian {', '.join(context.site.hosts.debian_releases)}, and Ceph {ceph.release} is Debian "
            f"{DEBIAN}'s",
            why=f"{use}; the seed has Ceph's packages for Debian {DEBIAN} alone",
            remedy=f"install Debian {DEBIAN} on the hosts and add it to hosts.debian_releases",
        )


def _devices(ceph: CephPlan) -> Iterator[Finding]:
    """Yield findings about what OSDs are on."""
    for kind, osds in ceph.osds.items():
        where = f"hardware.{kind}.osds"
        if twice := [name for name, count in Counter(one.name for one in osds).items() if count > 1]:
            yield error("same-osd-twice", where)(
                what=f"hardware {kind} has {', '.join(twice)} twice among its OSDs",
                why="one device is one OSD: the layer would wait for the other for ever",
                remedy="leave one out; two OSDs in files have two names",
            )
        paths = list(dict.fromkeys(one.device for one in osds if one.device))
        for one, other in combinations(paths, 2):
            if overlap(one, other):
                yield error("same-disk-twice", where)(
                    what=f"OSDs of hardware {kind} are on {one} and {other}: one disk, or a disk and a part of it",
                    why="two OSDs would be written over each other, and the data of the first be lost",
                    remedy="leave one out",
                )
        if moving := [one.device for one in osds if one.device and _MOVES.match(one.device)]:
            yield warning("device-that-moves", where)(
                what=f"OSDs of hardware {kind} are on {', '.join(moving)}",
                why="the system gives these names anew at each start, and an OSD belongs to the path of its device",
                remedy="write paths that stay: ls -l /dev/disk/by-path, on the host",
            )


def _external(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about an external Ceph."""
    written, used = context.site.storage, clients_of(context.layout)
    if written.external and written.backend != "external":
        yield error("external-without-backend", "storage.external", "storage.backend")(
            what=f"storage.external names a Ceph, and storage.backend is {written.backend}",
            why="nothing would use it",
            remedy="write storage.backend: external, or leave storage.external out",
        )
    if not written.external or written.backend != "external":
        return
    known = [name for name, one in CLIENTS.items() if one.images]  # its object gateways are not ours
    if unknown := [name for name in written.external.clients if name not in known]:
        yield error("unknown-ceph-client", *(f"storage.external.clients.{name}" for name in unknown))(
            what=f"{', '.join(unknown)} is no client of Ceph",
            why="no service would log in by that name",
            remedy=choose(unknown[0], known),
        )
    users = Counter(written.external.clients.get(name, name) for name in used)
    if shared := [user for user, count in users.items() if count > 1]:
        yield error("shared-ceph-user", "storage.external.clients")(
            what=f"clients share the user client.{shared[0]}",
            why="whoever has the volumes' key would have the images or backups along with them",
            remedy="give each client a user of its own",
        )
    if admins := [name for name, user in written.external.clients.items() if user == "admin"]:
        yield error("administrator-as-client", *(f"storage.external.clients.{name}" for name in admins))(
            what=f"{', '.join(admins)} would log in as client.admin, the cluster's administrator",
            why="its key would be on every node that uses Ceph; with make: true its rights would be cut to a service's",
            remedy="give each client a user of its own (ceph auth get-or-create)",
        )
    vain = [key for key in ("failure_domain", "monitors", "settings") if getattr(written, key)]
    vain += [f"pools.{name}" for name, pool in written.pools.items() if pool.failure_domain or pool.device_class]
    if vain:
        yield warning("ceph-of-others", *(f"storage.{key}" for key in vain))(
            what="storage says where copies and daemons are, and somebody else runs them",
            why="nothing is done about it: pools follow the cluster's own rule",
            remedy="leave it out, and have it set in that cluster",
        )
