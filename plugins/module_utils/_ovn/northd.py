"""Run northd beside databases that may have been made anew in the place of lost ones.

Clients of a cluster refuse members that know less than they have seen: the new cluster, until they are told to forget
the former one. And northd makes the southbound database what the northbound one says: of an empty one, no flows.
"""

from __future__ import annotations

import json
import time

from .._base.changes import Changes
from .._base.run import attempt, run
from .._base.wait import wait_until
from .._host import units
from .._host.units import Unit
from . import status
from .databases import CENTRAL, DATABASES, NB, NORTHD, SB, Database

RECONNECTS, SETTLES = 20.0, 1.0  # seconds: it tries again every 8


def converge(changes: Changes, unit: Unit) -> None:
    """Run northd, connected to both databases, unless it would delete all flows. Raises GroundupError."""
    if why := held(unit):
        changes.warnings.append(f"northd: {why}")
        stop(changes, unit)
        return
    Unit(changes, CENTRAL, on_change=None).running()  # starts the other units at boot
    unit.running()
    for one in wait_until(_refused, timeout=RECONNECTS):
        if None not in _known() and changes.add(f"have northd forget the former cluster of {one.name}"):
            run(_appctl(f"{one.short}-cluster-state-reset"))


def stop(changes: Changes, unit: Unit) -> None:
    """Stop it until both databases have members here: one that starts with an empty northbound database obeys it."""
    if unit.active and changes.add(f"stop {NORTHD}"):
        units.control("stop", NORTHD)


def held(unit: Unit) -> str:
    """Return why northd must not connect to the northbound database; "" when it may, or has."""
    if unit.active and not cut_off():
        return ""
    if wait_until(lambda: None in _known(), timeout=RECONNECTS):
        return (
            "" if unit.active else f"{NB.name} or {SB.name} does not answer: whether it would delete flows is not known"
        )
    switches, routers, flows = _known()
    if not flows or switches or routers:
        return ""
    return (
        f"{NB.name} is empty, and it would delete the flows of {flows} networks and routers: fill {NB.name} first "
        "(docs/network.md, All data lost)"
    )


def _known() -> tuple[int | None, int | None, int | None]:
    """Return the number of switches, of routers, and of networks and routers with flows; None: no answer."""
    return _rows(NB, "Logical_Switch"), _rows(NB, "Logical_Router"), _rows(SB, "Datapath_Binding")


def cut_off() -> list[Database]:
    """Return the databases that a running northd is not connected to.

    Asked twice: between a connection and the refusal of what is there, it says "connected".
    """
    if not (found := _cut_off()):
        time.sleep(SETTLES)
        found = _cut_off()
    return found


def _cut_off() -> list[Database]:
    said = {one.short: attempt(_appctl(f"{one.short}-connection-status")) for one in DATABASES}
    return [
        one for one in DATABASES if said[one.short].returncode == 0 and said[one.short].stdout.strip() != "connected"
    ]


def _refused() -> list[Database]:
    """Return the databases that northd is not connected to although their members work."""
    return [one for one in cut_off() if (now := status.ask(one)) and now.works]


def _rows(database: Database, table: str) -> int | None:
    """Return the number of rows, None where this host's member does not answer."""
    query = json.dumps([database.name, {"op": "select", "table": table, "where": [], "columns": ["_uuid"]}])
    done = attempt(["ovsdb-client", "-t", str(status.ASK * 4), "query", database.socket, query])
    return None if done.returncode else len(json.loads(done.stdout)[0]["rows"])


def _appctl(command: str) -> list[str]:
    return ["ovn-appctl", "-T", str(status.ASK), "-t", "ovn-northd", command]
