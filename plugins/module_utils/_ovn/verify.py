"""Verify OVN's databases and northd on a control host. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._base import tls
from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.run import run
from .._base.wait import wait_until
from .._host.units import Unit
from . import guard, northd, status
from .converge import Central
from .databases import DATABASES, MEMBER, NORTHD, Database

PATIENCE = 30.0  # seconds for a new or restarted member to find its leader


def verify(central: Central, changes: Changes, *, certificate_days: int) -> dict[str, Any]:
    """Return role, members, lag and the days of the certificate. Raises GroundupError for faults."""
    if wrong := wait_until(lambda: list(faults(central)), timeout=PATIENCE):
        raise GroundupError(
            "; ".join(wrong),
            where=f"host {central.name}, OVN's databases and northd",
            why="Neutron writes networks there, and every hypervisor reads its own from there",
            remedy="run the playbook groundup.cloud.network; journalctl -u ovn-ovsdb-server-nb -u ovn-ovsdb-server-sb "
            "-u ovn-northd on the host",
        )
    days = tls.days_left(MEMBER, why="without it the host is no member", remedy="run the playbooks secrets and network")
    if days < certificate_days:
        changes.warnings.append(f"the certificate of OVN's databases on {central.name} ends in {days} days")
    found = {one.short: status.ask(one) for one in DATABASES}
    return {
        "changed": False,
        "northd": status.northd(),
        "certificate_days": days,
        "members": {
            short: {"role": now.role, "cluster": now.cluster, "servers": sorted(now.servers), "behind": now.behind}
            for short, now in found.items()
            if now
        },
    }


def faults(central: Central) -> Iterator[str]:
    """Yield the present faults."""
    for one in DATABASES:
        now = status.ask(one)
        if now is None:
            yield f"{one.name}: {one.unit} does not answer"
            continue
        yield from judge(central, one, now)
        if now.works and not status.elsewhere(one, [central.address]):
            yield f"{one.name}: no answer over TLS on {central.address}"
        if now.role == "leader":
            yield from _of_the_leader(central, one)
    if not guard.GUARD.in_force(guard.rules(members=[central.address, *central.peers], clients=central.nodes)):
        ports = ", ".join(map(str, guard.guarded()))
        yield f"the rules of {guard.GUARD.rules} are not in force: any host of the site reaches ports {ports}"
    if (said := status.northd()) not in ("active", "standby"):
        why = northd.held(Unit(Changes(check=True), NORTHD))
        yield f"northd is {said}{f': {why}' * bool(why)}"
    yield from (f"northd is not connected to {one.name}" for one in northd.cut_off())


def judge(central: Central, database: Database, now: status.Status) -> Iterator[str]:
    """Yield the faults of a member with status ``now``."""
    name = database.name
    if not now.works:
        yield f"{name}: {now.state}, leader {now.leader}: it is cut off, or the others went on without it"
        return
    known = central.clusters.get(database.short, "")
    if known and now.cluster != known:
        yield f"{name}: the cluster {now.cluster}, the site's is {known}"
    wanted = {database.member(address) for address in (central.address, *central.peers)}
    if missing := wanted - set(now.servers):
        yield f"{name}: no members: {', '.join(sorted(missing))}"
    if others := set(now.servers) - wanted:
        yield f"{name}: members that are no control hosts of the site: {', '.join(sorted(others))}"
    if now.role == "leader" and now.election_timer != central.election_timer:
        yield f"{name}: election timer {now.election_timer} ms, not {central.election_timer}"


def _of_the_leader(central: Central, database: Database) -> Iterator[str]:
    if status.listeners(database) != central.listeners(database):
        yield f"{database.name}: other listeners than planned"
    installed = run(["ovsdb-tool", "schema-version", str(database.schema)]).strip()
    used = run(["ovsdb-client", "-t", str(status.ASK), "get-schema-version", database.socket, database.name]).strip()
    if used != installed:
        yield f"{database.name}: schema {used}, the installed version has {installed}"
