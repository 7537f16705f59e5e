#!/usr/bin/env python3
"""Starts one Galera member: it joins a cluster that runs, or forms one when that is safe, and becomes the server.

The story is told here: what do I hold, is there a cluster, who forms one, become the server. Beside it:
galera_data.py (the data directory), galera_election.py (who may form a cluster, and why), galera_state.py (the
ConfigMap in which members tell each other what they hold, and which says what was formed here), shared_object.py.

Scope: one member's start. Standard library only, since it runs before everything else; the server's children
(state transfer) are the server's own business.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import galera_data
from galera_election import Beats, RefusedError, elect, ordinal
from galera_state import CONSENT, FORM_FROM, NO_CLUSTER, Position, State, claims, forms, joins, parse, reports_in, waits
from shared_object import Api, SharedObject

MEMBER_FILE = Path("/etc/mysql/member.d/10-member.cnf")
WAITING = Path("/tmp/waiting")  # noqa: S108 - a marker for the probe, in the pod's own /tmp
UPGRADING = Path("/tmp/upgrading")  # noqa: S108 - as above
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
    """This member forms the cluster, at this position: the old history's, or the beginning of one with a new id."""

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
    collection = f"/api/v1/namespaces/{env['NAMESPACE']}/configmaps"
    shared = SharedObject(Api(), collection=collection, name=env["STATE_CONFIGMAP"])
    decision = decide(env, held, shared)
    become_server(env, decision, held, shared)


def decide(env: dict[str, str], held: Position, shared: SharedObject) -> Join | Form:
    """Return what this member is to do. Waits as long as it takes; why is in its log and in WAITING, for the probe."""
    members, me = int(env["MEMBERS"]), env["POD_NAME"]
    beats, beat, said = Beats(), 0, ""
    while True:
        others = running_others(domain=env["DISCOVERY"], own=env["POD_IP"], port=int(env["WSREP_PORT"]))
        if others:
            _remember(held, shared)
            return Join(others)
        try:
            found = shared.read()
            state = parse(found, now=time.time())
            waiting = beats.waiting(reports_in(found), now=time.monotonic()) | {me: held}
            try:
                chosen = elect(waiting, members=members, state=state)
                word = f"waiting for {chosen or _unheard(me, members, waiting)} (outage {state.outage})"
            except RefusedError as error:
                chosen, word = None, _refusal(env, error, held, state)
            if chosen == me:
                form = Form(held if held.uuid != NO_CLUSTER and not state.form_from else galera_data.new_history())
                # A new database is made first: if that is cut short, none was formed.
                if shared.change(found, claims(me) if held.empty else forms(me, form.history.uuid)):
                    return form
                continue
            beat += 1
            shared.change(found, waits(state, me, held, beat=beat, now=time.time()))
            if not state.outage:  # it has a name now, which what is said has to give
                continue
            word += "".join(
                f"\nignored, since it does not name the outage {state.outage}: {it}" for it in state.ignored
            )
        except OSError as error:
            word = f"the Kubernetes API says {error}"
            if members == 1 and held.uuid != NO_CLUSTER:  # with nobody to compare, its data say enough
                print(f"{word}: going on with what this member holds", flush=True)
                return Form(held)
        if word != said:
            print(word, flush=True)
            WAITING.write_text(word.partition("\n")[0] + "\n")
            said = word
        time.sleep(PAUSE)


def _remember(held: Position, shared: SharedObject) -> None:
    """Note which database was formed here, if nobody did: to join must not wait for that, the next start does it."""
    try:
        found = shared.read()
        if change := joins(parse(found, now=time.time()), held):
            shared.change(found, change)
    except OSError as error:
        print(f"the cluster's id is not noted: the Kubernetes API says {error}", flush=True)


def _unheard(me: str, members: int, waiting: dict[str, Position]) -> str:
    names = [f"{me.removesuffix(str(ordinal(me)))}{number}" for number in range(members)]
    return "word of " + ", ".join(name for name in names if name not in waiting)


def _refusal(env: dict[str, str], error: RefusedError, held: Position, state: State) -> str:
    """Return why no cluster is formed, where, and what to do."""
    configmap, me = env["STATE_CONFIGMAP"], env["POD_NAME"]
    value = f"{me}:{state.outage}" if error.consent == FORM_FROM else state.outage
    return (
        f"refused: {error}; here: volume claim {env['CLAIM']} on node {env['NODE']}, which holds "
        f"{'nothing' if held.empty else held}\n"
        f"remedy: bring the volume back or restore the data, then delete this pod\n"
        f"or give consent, good for this outage and {CONSENT / 60:.0f} minutes at most: kubectl --namespace "
        f"{env['NAMESPACE']} annotate --overwrite configmap {configmap} {error.consent}={value}"
    )


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


def become_server(env: dict[str, str], decision: Join | Form, held: Position, shared: SharedObject) -> None:
    """Become the server, as it was decided."""
    galera_data.forget_last_run()
    accounts = MEMBER_FILE.with_name("accounts.sql")
    accounts.touch(mode=0o600)
    accounts.write_text(galera_data.narrowing_sql(env))
    server = [galera_data.program("mariadbd"), f"--init-file={accounts}"]
    if isinstance(decision, Join):
        write_member(env, join=decision.addresses)
        # What the log of InnoDB says after a crash; Galera takes it only for the cluster its own file names.
        server.append(f"--wsrep-start-position={held if held.uuid != NO_CLUSTER else Position()}")
    else:
        if held.empty:
            galera_data.install()
        galera_data.write_history(decision.history)
        if held.empty:
            _record(env["POD_NAME"], decision.history, shared)
        server.append("--wsrep-new-cluster")
    UPGRADING.unlink(missing_ok=True)  # of a container of this pod that was killed
    if galera_data.is_of_another_series():
        UPGRADING.write_text("not begun\n")  # the next member waits for this one's probe, which waits for this file
        subprocess.Popen([str(Path(__file__).with_name("health.sh")), "upgrade"])  # beside the server
    WAITING.unlink(missing_ok=True)
    print(f"becoming the server: {decision}", flush=True)
    os.execv(server[0], server)  # noqa: S606 - the container becomes the server


def _record(pod: str, history: Position, shared: SharedObject) -> None:
    """Say that a database was formed, however long it takes: before that the server must not take a write."""
    while True:
        try:
            if shared.change(shared.read(), forms(pod, history.uuid)):
                return
        except OSError as error:
            print(f"the database is made, and cannot be recorded: the Kubernetes API says {error}", flush=True)
        time.sleep(PAUSE)


if __name__ == "__main__":
    main()
