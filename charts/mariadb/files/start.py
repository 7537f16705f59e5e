#!/usr/bin/env python3
"""Starts one Galera member: it joins a cluster that runs, or forms one when that is safe, and becomes the server.

The story is told here: what do I hold, is there a cluster, who forms one, become the server. Beside it:
galera_data.py (the data directory), galera_election.py (who may form a cluster, and why), shared_object.py (the
ConfigMap in which members tell each other what they hold).

Scope: one member's start. Standard library only, since it runs before everything else; the server's children
(state transfer) are the server's own business.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import galera_data
from galera_election import FORM_FROM, Beats, Position, RefusedError, elect, report, reports_in
from shared_object import Api, SharedObject

MEMBER_FILE = Path("/etc/mysql/member.d/10-member.cnf")
WAITING = Path("/tmp/waiting")  # noqa: S108 - a marker for the probe, in the pod's own /tmp
PAUSE = 2.0  # seconds between looks
KNOCK = 2.0  # seconds for a member to take a connection


@dataclass(frozen=True)
class Join:
    """A cluster runs: these are the addresses of its members."""

    addresses: tuple[str, ...]

    def __str__(self) -> str:
        return f"joining {', '.join(self.addresses)}"


@dataclass(frozen=True)
class Form:
    """This member forms the cluster, at this position of the old one's history; at none, with a new id."""

    history: Position

    def __str__(self) -> str:
        return f"forming the cluster at {self.history}"


def main() -> None:
    """Find out what this member holds, decide, become the server."""
    # The first process of a container is ended by a signal only if it says so; the server's own handlers follow.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to end"))
    env = dict(os.environ)
    WAITING.touch()
    write_member(env, join=())
    held = galera_data.position()
    print(f"{env['POD_NAME']} holds {held}", flush=True)
    decision = decide(env, held)
    become_server(env, decision, held)


def decide(env: dict[str, str], held: Position) -> Join | Form:
    """Return what this member is to do. Waits as long as it takes."""
    members, me = int(env["MEMBERS"]), env["POD_NAME"]
    if members == 1:
        return Form(held)
    collection = f"/api/v1/namespaces/{env['NAMESPACE']}/configmaps"
    state = SharedObject(Api(), collection=collection, name=env["STATE_CONFIGMAP"])
    beats, beat, said = Beats(), 0, ""
    while True:
        others = running_others(domain=env["DISCOVERY"], own=env["POD_IP"], port=int(env["WSREP_PORT"]))
        if others:
            return Join(others)
        try:
            found = state.read()
            beat += 1
            form_from = (found["metadata"].get("annotations") or {}).get(FORM_FROM)
            waiting = beats.waiting(reports_in(found), now=time.monotonic()) | {me: held}
            chosen = elect(waiting, members=members, form_from=form_from)
            if chosen == me:
                claim = {
                    "metadata": {"annotations": {FORM_FROM: None}},
                    "data": {f"member.{me}": None, "formed-by": me},
                }
                if state.change(found, claim):
                    # Whom an operator chose may be behind others: then the old history is not theirs to go on with.
                    return Form(Position() if form_from else held)
                continue
            state.change(found, {"data": {f"member.{me}": report(held, beat=beat)}})
            word = f"waiting for {chosen}" if chosen else f"waiting to hear from {members - len(waiting)} more members"
        except (RefusedError, OSError) as error:
            word = str(error)
        if word != said:
            print(word, flush=True)
            said = word
        time.sleep(PAUSE)


def running_others(*, domain: str, own: str, port: int) -> tuple[str, ...]:
    """Return the addresses of the other members that run.

    DNS of the headless Service lists ready members, and goes on listing one that has just died: so they are asked.
    """
    try:
        found = {str(info[4][0]) for info in socket.getaddrinfo(domain, None, type=socket.SOCK_STREAM)}
    except socket.gaierror:
        return ()
    return tuple(address for address in sorted(found - {own}) if _listens(address, port))


def _listens(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=KNOCK).close()
    except OSError:
        return False
    return True


def write_member(env: dict[str, str], *, join: tuple[str, ...]) -> None:
    """Write the member's own options: who it is, and whom it joins."""
    address = ",".join(f"{peer}:{env['WSREP_PORT']}" for peer in join)
    MEMBER_FILE.touch(mode=0o600)
    MEMBER_FILE.write_text(
        "[mysqld]\n"
        f"wsrep_node_name={env['POD_NAME']}\n"
        f"wsrep_node_address={env['POD_IP']}\n"
        f"wsrep_cluster_address=gcomm://{address}\n"
        f"wsrep_sst_auth={env['MYSQL_DBSST_USERNAME']}:{env['MYSQL_DBSST_PASSWORD']}\n"
    )


def become_server(env: dict[str, str], decision: Join | Form, held: Position) -> None:
    """Become the server, as it was decided."""
    galera_data.forget_last_run()
    server = [galera_data.program("mariadbd")]
    if isinstance(decision, Join):
        write_member(env, join=decision.addresses)
        # What the log of InnoDB says after a crash; Galera takes it only for the cluster its own file names.
        server.append(f"--wsrep-start-position={held}")
    else:
        if not galera_data.has_data():
            galera_data.install()
        galera_data.write_history(decision.history)
        server.append("--wsrep-new-cluster")
    WAITING.unlink(missing_ok=True)
    print(f"becoming the server: {decision}", flush=True)
    os.execv(server[0], server)  # noqa: S606 - the container becomes the server


if __name__ == "__main__":
    main()
