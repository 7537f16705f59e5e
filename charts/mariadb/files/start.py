#!/usr/bin/env python3
"""Starts one Galera member: it joins a cluster that runs, or forms one when that is safe, and becomes the server.

A cluster is formed by one member with --wsrep-new-cluster. If two do it, or one that is behind, committed data is lost
(H2). So a member forms the cluster only if all of this holds:

* no other member is ready (DNS of the headless Service lists ready members only);
* every member of the StatefulSet is waiting just like this one: each writes what it holds, and a beat that goes on,
  into a ConfigMap; a member whose server runs does not beat, and a member that is away does not either;
* what it holds is the newest of all, the lowest ordinal first among equals;
* its claim, written against the version of the ConfigMap it decided on, was accepted.

A member that cannot be waited for (its volume is lost for good) has to be written off by an operator, with
the annotation openstack.groundup.cloud/form-from: <pod> on the ConfigMap; the new cluster's former removes it.

Scope: one member's start. Standard library only, since it runs before everything else; the server's children
(state transfer) are the server's own business.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

DATA = Path("/var/lib/mysql")
MEMBER_FILE = Path("/etc/mysql/member.d/10-member.cnf")
WAITING = Path("/tmp/waiting")  # noqa: S108 - a marker for the probe, in the pod's own /tmp
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
FORM_FROM = "openstack.groundup.cloud/form-from"
NO_CLUSTER = "00000000-0000-0000-0000-000000000000"
PAUSE = 2.0  # seconds between looks
FRESH = 15.0  # seconds after which a member that has not beaten counts as away
CONFLICT, NOT_FOUND = 409, 404


@dataclass(frozen=True)
class Position:
    """What a member holds: a cluster's id and the last transaction of it. No data: NO_CLUSTER and -1."""

    uuid: str = NO_CLUSTER
    seqno: int = -1


class RefusedError(Exception):
    """No member may form the cluster; the message says why and what to do."""


def elect(positions: dict[str, Position], *, members: int, form_from: str | None = None) -> str | None:
    """Return the member that may form the cluster, or None while not every one of ``members`` has been heard.

    ``positions`` are those of members that wait at this moment. ``form_from`` is an operator's word: that member, as
    soon as it waits. Raises RefusedError when the members hold data of different clusters.
    """
    if form_from is not None:
        return form_from if form_from in positions else None
    if len(positions) < members:
        return None
    clusters = {position.uuid for position in positions.values()} - {NO_CLUSTER}
    if len(clusters) > 1:
        raise RefusedError(
            f"members hold data of different clusters ({', '.join(sorted(clusters))}): an operator has to choose one "
            f"with the annotation {FORM_FROM}"
        )
    return min(positions, key=lambda pod: (-positions[pod].seqno, positions[pod].uuid == NO_CLUSTER, _ordinal(pod)))


def _ordinal(pod: str) -> int:
    return int(pod.rsplit("-", 1)[1])


class Beats:
    """Which members wait right now, by beats that go on. Only this machine's own clock is used."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, float]] = {}

    def waiting(self, reports: dict[str, dict[str, Any]], *, now: float) -> dict[str, Position]:
        """Return the positions of members whose beat has gone on within FRESH seconds; a first look proves nothing."""
        positions = {}
        for pod, report in reports.items():
            beat, since = self._seen.get(pod, (report["beat"], float("-inf")))
            if report["beat"] != beat:
                since = now
            self._seen[pod] = (report["beat"], since)
            if now - since <= FRESH:
                positions[pod] = Position(report["uuid"], report["seqno"])
        return positions


class State:
    """The ConfigMap the members share, changed only against the version that was read."""

    def __init__(self, *, namespace: str, name: str) -> None:
        host = os.environ["KUBERNETES_SERVICE_HOST"]
        host = f"[{host}]" if ":" in host else host
        base = f"https://{host}:{os.environ['KUBERNETES_SERVICE_PORT']}"
        self.url = f"{base}/api/v1/namespaces/{namespace}/configmaps"
        self.name = name
        self.trust = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))

    def _call(self, method: str, url: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        request = urllib.request.Request(  # noqa: S310 - always https
            url,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}", "Content-Type": kind},
        )
        with urllib.request.urlopen(request, context=self.trust, timeout=20) as answer:  # noqa: S310
            return dict(json.load(answer))

    def read(self) -> dict[str, Any]:
        """Return the ConfigMap, made when it is missing."""
        try:
            return self._call("GET", f"{self.url}/{self.name}")
        except urllib.error.HTTPError as error:
            if error.code != NOT_FOUND:
                raise
        try:
            return self._call("POST", self.url, {"metadata": {"name": self.name}})
        except urllib.error.HTTPError as error:
            if error.code != CONFLICT:
                raise
        return self._call("GET", f"{self.url}/{self.name}")

    def change(self, read: dict[str, Any], data: dict[str, str | None], **annotations: str | None) -> bool:
        """Change what was ``read`` and return whether it was still the same; when not, nothing has changed."""
        metadata = {"resourceVersion": read["metadata"]["resourceVersion"], "annotations": annotations}
        try:
            self._call("PATCH", f"{self.url}/{self.name}", {"metadata": metadata, "data": data})
        except urllib.error.HTTPError as error:
            if error.code != CONFLICT:
                raise
            return False
        return True


def reports_in(configmap: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the members' reports in ``configmap``: pod -> {uuid, seqno, beat}."""
    data = configmap.get("data") or {}
    return {key.removeprefix("member."): json.loads(value) for key, value in data.items() if key.startswith("member.")}


def parse_grastate(text: str) -> Position:
    """Return the position in Galera's grastate.dat. seqno is -1 when the server did not end in order."""
    fields = dict(re.findall(r"^(\w+):\s*(\S+)\s*$", text, re.MULTILINE))
    return Position(fields.get("uuid", NO_CLUSTER), int(fields.get("seqno", "-1")))


def position() -> Position:
    """Return what this member holds; after a crash the server is asked to read it from InnoDB's log."""
    grastate = DATA / "grastate.dat"
    found = parse_grastate(grastate.read_text()) if grastate.exists() else Position()
    if found.seqno >= 0:
        return found
    log = Path("/tmp/recover.log")  # noqa: S108
    log.unlink(missing_ok=True)
    subprocess.run([_program("mariadbd"), "--wsrep-recover", f"--log-error={log}"], check=True)
    match = re.findall(r"Recovered position:\s*([0-9a-f-]{36}):(-?\d+)", log.read_text(errors="replace"))
    return Position(match[-1][0], int(match[-1][1])) if match else found


def ready_others(*, domain: str, own: str) -> list[str]:
    """Return the addresses of the other members that are ready."""
    try:
        found = {str(info[4][0]) for info in socket.getaddrinfo(domain, None, type=socket.SOCK_STREAM)}
    except socket.gaierror:
        return []
    return sorted(found - {own})


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise SystemExit(f"{name} is not in the image's PATH")
    return path


def _sql(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def accounts_sql(env: dict[str, str]) -> str:
    """Return the SQL that makes the accounts of a new database, and nobody else's."""
    admin, sst, audit = (
        (_sql(env[f"MYSQL_DB{who}_USERNAME"]), _sql(env[f"MYSQL_DB{who}_PASSWORD"]))
        for who in ("ADMIN", "SST", "AUDIT")
    )
    lines = ["DELETE FROM mysql.global_priv WHERE User NOT IN ('mariadb.sys', 'PUBLIC')", "FLUSH PRIVILEGES"]
    for host in ("'%'", "'localhost'"):
        lines += [
            f"CREATE USER {admin[0]}@{host} IDENTIFIED BY {admin[1]}",
            f"GRANT ALL PRIVILEGES ON *.* TO {admin[0]}@{host} WITH GRANT OPTION",
        ]
    lines += [
        f"CREATE USER {sst[0]}@'localhost' IDENTIFIED BY {sst[1]}",
        f"GRANT RELOAD, PROCESS, LOCK TABLES, BINLOG MONITOR, REPLICA MONITOR ON *.* TO {sst[0]}@'localhost'",
        f"CREATE USER {audit[0]}@'%' IDENTIFIED BY {audit[1]}",
        f"GRANT SELECT ON *.* TO {audit[0]}@'%'",
        "SHUTDOWN",
    ]
    return "".join(f"{line};\n" for line in lines)


def install() -> None:
    """Make a new database with its accounts. A marker tells a half-made one from one that holds data."""
    marker = DATA / ".installing"
    if marker.exists():
        print("an earlier start was cut short while it made the database: beginning again", flush=True)
        for path in DATA.iterdir():
            if path != marker and path.name != "lost+found":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    marker.touch()
    print("making a new database", flush=True)
    subprocess.run(
        [
            _program("mariadb-install-db"),
            "--skip-test-db",
            "--auth-root-authentication-method=normal",
            "--skip-log-bin",
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    sql = Path("/tmp/accounts.sql")  # noqa: S108 - in the pod's own /tmp, and gone in a moment
    sql.touch(mode=0o600)
    sql.write_text(accounts_sql(dict(os.environ)))
    try:
        subprocess.run([_program("mariadbd"), "--wsrep-on=OFF", "--skip-networking", f"--init-file={sql}"], check=True)
    finally:
        sql.unlink()
    marker.unlink()


def write_member(env: dict[str, str], *, join: list[str] | None) -> None:
    """Write the member's own options: who it is, and whom it joins (None: nobody)."""
    address = ",".join(f"{peer}:{env['WSREP_PORT']}" for peer in join or [])
    MEMBER_FILE.touch(mode=0o600)
    MEMBER_FILE.write_text(
        "[mysqld]\n"
        f"wsrep_node_name={env['POD_NAME']}\n"
        f"wsrep_node_address={env['POD_IP']}\n"
        f"wsrep_cluster_address=gcomm://{address}\n"
        f"wsrep_sst_auth={env['MYSQL_DBSST_USERNAME']}:{env['MYSQL_DBSST_PASSWORD']}\n"
    )


def become_server(*, join: list[str] | None) -> None:
    """Become the server: joining ``join``, or forming a cluster when it is None."""
    # The view of the last run holds addresses of pods that are no more.
    (DATA / "gvwstate.dat").unlink(missing_ok=True)
    server = [_program("mariadbd")]
    if join is None:
        grastate = DATA / "grastate.dat"
        if grastate.exists():
            grastate.write_text(re.sub(r"safe_to_bootstrap: 0", "safe_to_bootstrap: 1", grastate.read_text()))
        server.append("--wsrep-new-cluster")
    WAITING.unlink(missing_ok=True)
    print(f"becoming the server: {'forming the cluster' if join is None else 'joining ' + ', '.join(join)}", flush=True)
    os.execv(server[0], server)  # noqa: S606 - the container becomes the server


def decide(env: dict[str, str], held: Position) -> list[str] | None:
    """Return the members to join, or None when this member is to form the cluster. Waits as long as it takes."""
    members, me = int(env["MEMBERS"]), env["POD_NAME"]
    if members == 1:
        return None
    state = State(namespace=env["NAMESPACE"], name=env["STATE_CONFIGMAP"])
    beats, beat, said = Beats(), 0, ""
    while True:
        others = ready_others(domain=env["DISCOVERY"], own=env["POD_IP"])
        if others:
            return others
        try:
            found = state.read()
            beat += 1
            form_from = (found["metadata"].get("annotations") or {}).get(FORM_FROM)
            waiting = beats.waiting(reports_in(found), now=time.monotonic()) | {me: held}
            chosen = elect(waiting, members=members, form_from=form_from)
            if chosen == me:
                claim = {f"member.{me}": None, "formed-by": me}
                if state.change(found, claim, **{FORM_FROM: None}):
                    return None
                continue
            state.change(found, {f"member.{me}": json.dumps({**asdict(held), "beat": beat})})
            word = f"waiting for {chosen}" if chosen else f"waiting to hear from {members - len(waiting)} more members"
        except (RefusedError, OSError) as error:
            word = str(error)
        if word != said:
            print(word, flush=True)
            said = word
        time.sleep(PAUSE)


def has_data() -> bool:
    """Return whether this member holds a whole database."""
    return (DATA / "mysql").is_dir() and not (DATA / ".installing").exists()


def main() -> None:
    """Find out what this member holds, decide, become the server."""
    # The first process of a container is ended by a signal only if it says so; the server's own handlers follow.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to end"))
    env = dict(os.environ)
    WAITING.touch()
    write_member(env, join=None)
    several = int(env["MEMBERS"]) > 1
    held = position() if several and has_data() else Position()
    if several:
        print(f"{env['POD_NAME']} holds {held.uuid}:{held.seqno}", flush=True)
    join = decide(env, held)
    write_member(env, join=join)
    if join is None and not has_data():
        install()
    become_server(join=join)


if __name__ == "__main__":
    main()
