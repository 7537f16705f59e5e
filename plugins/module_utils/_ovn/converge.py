"""Converge OVN's databases and northd on one control host.

The data on disk decide: they are never recreated, and a host without data starts nothing until it is told to create
the cluster or to join it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from .._base import files, tls
from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.run import run
from .._base.wait import wait_until
from .._host import packages
from .._host.units import Unit
from . import configuration, disk, guard, northd, status
from .databases import CA, CHASSIS_CA, DATABASES, MEMBER, NORTHD, OPTIONS, PARAMETERS, UNITS, Database

Step = Literal["maintain", "form", "restart", "verify"]
PATIENCE = 60.0  # seconds for a member to find its leader: time for several elections
_AGAIN = "then run this again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Central:
    """The wanted state of a control host."""

    packages: Sequence[str]
    step: Step  # form: make this host a member of each database; restart: apply changed files
    create: Sequence[str]  # databases whose cluster this host creates if it has no data
    name: str
    address: str
    peers: Sequence[str]  # addresses of the other control hosts
    nodes: Sequence[str]  # source addresses and networks of Neutron's pods: nodes and pods of the cluster
    clusters: Mapping[str, str]  # by database: id of the site's cluster, "" before it exists
    northbound: Sequence[str]
    southbound: Sequence[str]
    election_timer: int  # milliseconds
    inactivity_probe: int  # milliseconds
    certificate: str
    private_key: str = field(repr=False)
    ca_certificate: str
    hypervisor_ca: str  # which signs the chassis' certificates

    def listeners(self, database: Database) -> frozenset[tuple[str, str, int]]:
        """Return target, role and probe of the planned listeners of ``database``."""
        return frozenset((f"pssl:{one.port}", one.role, self.inactivity_probe) for one in database.listeners)


def converge(central: Central, changes: Changes) -> dict[str, Any]:
    """Converge the host to ``central``; return the module's result. Raises GroundupError, OSError."""
    servers = {one.short: Unit(changes, one.unit) for one in DATABASES}
    northd_unit = Unit(changes, NORTHD)
    for one in DATABASES:
        disk.refuse_foreign(one)  # before any configuration of a cluster: ovn-ctl would convert the data
    guard.GUARD.converge(changes, guard.rules(members=[central.address, *central.peers], clients=central.nodes))
    _configure(central, changes, [*servers.values()], northd_unit)
    # After the drop-ins: the packages start their units, which would create standalone databases.
    fresh = packages.installed(changes, central.packages)
    absent = fresh and changes.check
    found = {} if absent else {one.short: _member(central, changes, one) for one in DATABASES}
    due: list[str] = []
    for one in DATABASES:
        if found.get(one.short) is None:
            continue
        if central.step == "maintain" and servers[one.short].stale and status.ask(one):
            due.append(one.short)  # restarted later, one member at a time
            continue
        servers[one.short].running()
        if central.step != "maintain" and not changes.check:
            _wait(one)
        _lead(central, changes, one)
    if all(found.values()) and not absent:
        northd.converge(changes, northd_unit)
    elif central.step == "maintain" and not absent:
        northd.stop(changes, northd_unit)
    return changes.result() | {
        "databases": {short: member.cluster if member else None for short, member in found.items()},
        "waits": [one.short for one in DATABASES if found.get(one.short) is None],
        "due": due,
    }


def _configure(central: Central, changes: Changes, servers: Sequence[Unit], northd_unit: Unit) -> None:
    """Write the units' configuration and their credentials."""

    def mark() -> None:
        for unit in (*servers, northd_unit):
            unit.mark()
            unit.replaced()

    place_authorities(changes, own=central.ca_certificate, hypervisors=central.hypervisor_ca, mark=mark)
    files.place(
        changes,
        MEMBER,
        tls.with_key(central.certificate, central.private_key),
        mode=0o600,
        secret=True,
        valid=partial(tls.check_pair, user=f"ovn-{central.name}"),
    )
    for one in DATABASES:
        files.place(changes, UNITS / f"{one.unit}.d" / "groundup.conf", configuration.drop_in(one))
    parameters = configuration.northd(northbound=central.northbound, southbound=central.southbound)
    northd_unit.place(PARAMETERS, parameters)
    if files.place(changes, OPTIONS, configuration.options(central.address), before=mark):
        for unit in (*servers, northd_unit):
            unit.replaced()  # in check mode, too


def place_authorities(
    changes: Changes, *, own: str, hypervisors: str, mark: Callable[[], object] | None = None
) -> None:
    """Write whom the databases believe: certificates of OVN's own CA; the southbound's also of chassis.

    They add the CAs of a changed file to those they have. Before one leaves, ``mark`` has them restarted later.
    """
    for path, text in {CA: f"{own.rstrip()}\n", CHASSIS_CA: f"{own.rstrip()}\n{hypervisors.rstrip()}\n"}.items():
        former = set(tls.certificates(files.read(path) or "")) - set(tls.certificates(text))
        files.place(changes, path, text, before=mark if former else None)


def _member(central: Central, changes: Changes, database: Database) -> disk.RaftMember | None:
    """Return this host's member of ``database``; create or join it first if that is the step."""
    known, own = central.clusters.get(database.short, ""), database.member(central.address)
    member = disk.read(database)
    if member:
        disk.check(database, member, address=central.address, known=known)
    elif central.step != "form":
        return None
    elif database.short in central.create:
        if known:
            raise _second(database, known)
        if changes.add(f"create the cluster of {database.name}"):
            database.file.parent.mkdir(parents=True, exist_ok=True)
            timer = f"--election-timer={central.election_timer}"
            run(["ovsdb-tool", timer, "create-cluster", str(database.file), str(database.schema), own])
    elif changes.add(f"join the cluster of {database.name}"):
        through = _through(central, database, known)
        database.file.parent.mkdir(parents=True, exist_ok=True)
        remotes = [database.member(address) for address in through]
        cluster = f"--cid={known or next(iter(through.values()))}"
        run(["ovsdb-tool", cluster, "join-cluster", str(database.file), database.name, own, *remotes])
    return member or (None if changes.check else disk.read(database))


def _through(central: Central, database: Database, known: str) -> dict[str, str]:
    """Return the members to join through: address to cluster id. Raises GroundupError when there is none."""
    answers: dict[str, str] = {}

    def pending() -> bool:
        answers.update(status.elsewhere(database, central.peers))
        return not answers

    wait_until(pending, timeout=PATIENCE / 2 if central.peers else 0)
    found = {address: cluster for address, cluster in answers.items() if not known or cluster == known}
    if not found or len(set(found.values())) > 1:
        said = ", ".join(f"{address}: cluster {cluster}" for address, cluster in answers.items()) or "none answers"
        raise GroundupError(
            f"this host cannot join {database.name}: no member of {known or 'one cluster'} is in touch with its leader",
            where=f"asked: {', '.join(central.peers) or 'nobody, there is no other control host'}; {said}",
            why="a member without data joins through one that has them, and never makes a cluster beside it",
            remedy="start the members that have data (journalctl -u ovn-ovsdb-server-nb -u ovn-ovsdb-server-sb), "
            f"{_AGAIN}; if all data are lost, see docs/network.md",
        )
    return found


def _wait(database: Database) -> None:
    """Wait until this host's member knows its leader. Raises GroundupError."""

    def pending() -> str:
        now = status.ask(database)
        return "" if now and now.works and now.cluster else f"{now.state}, leader {now.leader}" if now else "no answer"

    if why := wait_until(pending, timeout=PATIENCE):
        raise GroundupError(
            f"this host's member of {database.name} does not find its leader: {why}",
            where=f"this host, {database.unit}",
            why="without a leader nothing can be written, and with most members like this one nothing is",
            remedy=f"journalctl -u {database.unit} -n 50; "
            f"ovn-appctl -t {database.control} cluster/status {database.name}",
        )


def _lead(central: Central, changes: Changes, database: Database) -> None:
    """Converge the settings of the leader: listeners and election timer."""
    now = status.ask(database)
    if not now or now.role != "leader":
        return
    wanted = central.listeners(database)
    before = status.listeners(database)
    if before != wanted and changes.add(
        f"set the listeners of {database.name}", name=database.name, before=_lines(before), after=_lines(wanted)
    ):
        probe, rows = f"--inactivity-probe={central.inactivity_probe}", list[str]()
        for one in database.listeners:
            rows += [*([f"role={one.role}"] if database.knows_roles else []), f"pssl:{one.port}"]
        run([*status.local(database), probe, "set-connection", *rows])
    for timer in steps(now.election_timer, central.election_timer):
        if changes.add(f"set the election timer of {database.name} to {timer} ms"):
            run(status.appctl(database, "cluster/change-election-timer", database.name, str(timer)))
            wait_until(partial(_differs, database, timer), timeout=PATIENCE)


def steps(now: int, wanted: int) -> list[int]:
    """Return the timer values from ``now`` to ``wanted``: raft at most doubles it per step."""
    found = []
    while now and now != wanted:
        now = min(now * 2, wanted)
        found.append(now)
    return found


def _differs(database: Database, timer: int) -> bool:
    found = status.ask(database)
    return found is None or found.election_timer != timer


def _lines(rows: frozenset[tuple[str, str, int]]) -> str:
    return "".join(f"{target} role={role or '-'} probe={probe} ms\n" for target, role, probe in sorted(rows))


def _second(database: Database, known: str) -> GroundupError:
    return GroundupError(
        f"no second cluster of {database.name} is made: the site has {known}",
        where="the site's state directory: ovn.json",
        why="hypervisors and Neutron would find two, each with a part of the tenants' networks",
        remedy=f"bring a control host with its data back, {_AGAIN}; if all data are lost, see docs/network.md",
    )
