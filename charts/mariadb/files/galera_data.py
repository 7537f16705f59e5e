"""One member's data directory: a new database is made, the position of an old one is told, and kept.

Standard library only: it runs before the server does.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import uuid
from pathlib import Path

from galera_state import NO_CLUSTER, UNKNOWN, Position

DATA = Path("/var/lib/mysql")
RECOVERY_LOG = Path("/tmp/recover.log")  # noqa: S108 - in the pod's own /tmp
GRASTATE, INSTALLING = "grastate.dat", ".installing"
# What a state transfer has here: a marker for its whole run, and a directory once it replaces what is here by a copy.
TRANSFER, COPY = "sst_in_progress", ".sst"
UPGRADED = ("mariadb_upgrade_info", "mysql_upgrade_info")  # for which version system tables are; the second: to 10.11
UNLOGGED = "SET SESSION sql_log_bin = 0"
CLOUD_STATE = Path(__file__).with_name("cloud_state.sql")  # of sites with monitoring


def program(name: str) -> str:
    """Return the path of a program of the image."""
    path = shutil.which(name)
    if path is None:
        raise SystemExit(f"{name} is not in the image's PATH")
    return path


def has_data() -> bool:
    """Return whether this member holds a database that was made, or copied from another member, to its end."""
    return (DATA / "mysql").is_dir() and not any((DATA / name).exists() for name in (INSTALLING, COPY))


def is_of_another_series() -> bool:
    """Return whether the system tables are not known to be those of the server's series."""
    said = subprocess.run([program("mariadbd"), "--version"], capture_output=True, text=True, check=True).stdout
    series = re.findall(r"Ver (\d+\.\d+\.)", said)
    known = next((path.read_text() for name in UPGRADED if (path := DATA / name).exists()), "")
    return not series or not known.startswith(series[0])


def position() -> Position:
    """Return what this member holds; after a crash the server is asked to read it from InnoDB's log.

    A copy of another member's data that was cut short counts as nothing: it is made anew by the next start.
    """
    if not has_data():
        return Position()
    grastate = DATA / GRASTATE
    found = parse_grastate(grastate.read_text()) if grastate.exists() else Position()
    found = found if found.seqno >= 0 else _recovered() or found
    return UNKNOWN if found.empty else found


def parse_grastate(text: str) -> Position:
    """Return the position in Galera's grastate.dat. seqno is -1 when the server did not end in order."""
    fields = dict(re.findall(r"^(\w+):\s*(\S+)\s*$", text, re.MULTILINE))
    return Position(fields.get("uuid", NO_CLUSTER), int(fields.get("seqno", "-1")))


def forget_last_run() -> None:
    """Remove what a server that was killed left: the view it had of pods that are no more, and word of a transfer."""
    for name in ("gvwstate.dat", TRANSFER):
        (DATA / name).unlink(missing_ok=True)


def _recovered() -> Position | None:
    log = RECOVERY_LOG
    log.unlink(missing_ok=True)
    done = subprocess.run([program("mariadbd"), "--wsrep-recover", f"--log-error={log}"], check=False)
    said = log.read_text(errors="replace") if log.exists() else ""
    if done.returncode:
        raise SystemExit(f"{said}what this member holds cannot be read: mariadbd ended with code {done.returncode}")
    match = re.findall(r"Recovered position:\s*([0-9a-f-]{36}):(-?\d+)", said)
    return Position(match[-1][0], int(match[-1][1])) if match else None


def write_history(held: Position) -> None:
    """Let this member form the cluster as the one it was, at ``held``, or as one with a new id (``new_history``).

    Under the old id, members that hold an earlier position need only what they lack, and a second outage finds one
    history and not two. That is safe only if nobody holds more: such a member would take its own end for the
    cluster's. Under a new id everybody takes a whole copy.
    """
    new = DATA / f"{GRASTATE}.new"
    with new.open("w") as file:
        file.write(
            f"# GALERA saved state\nversion: 2.1\nuuid:    {held.uuid}\nseqno:   {held.seqno}\nsafe_to_bootstrap: 1\n"
        )
        file.flush()
        os.fsync(file.fileno())
    new.replace(DATA / GRASTATE)


def new_history() -> Position:
    """Return where a cluster with a new id begins. Made here, the ConfigMap has it before the server runs."""
    return Position(str(uuid.uuid1()), 0)


def _sql(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def accounts_sql(env: dict[str, str]) -> str:
    """Return the SQL that makes the accounts of a new database, and nobody else's.

    Others copy the whole of it: it is not logged, as a binary log has passwords in plaintext.
    """
    admin, sst, audit = (
        (_sql(env[f"MYSQL_DB{who}_USERNAME"]), _sql(env[f"MYSQL_DB{who}_PASSWORD"]))
        for who in ("ADMIN", "SST", "AUDIT")
    )
    lines = [UNLOGGED, "DELETE FROM mysql.global_priv WHERE User NOT IN ('mariadb.sys', 'PUBLIC')", "FLUSH PRIVILEGES"]
    for host in ("'%'", "'localhost'"):
        lines += [
            f"CREATE USER {admin[0]}@{host} IDENTIFIED BY {admin[1]}",
            f"GRANT ALL PRIVILEGES ON *.* TO {admin[0]}@{host} WITH GRANT OPTION",
        ]
    lines += [
        f"CREATE USER {sst[0]}@'localhost' IDENTIFIED BY {sst[1]}",
        f"GRANT RELOAD, PROCESS, LOCK TABLES, BINLOG MONITOR, REPLICA MONITOR ON *.* TO {sst[0]}@'localhost'",
        # SHOW STATUS, all that the controller asks, needs no privilege.
        f"CREATE USER {audit[0]}@'%' IDENTIFIED BY {audit[1]}",
        "SHUTDOWN",
    ]
    return "".join(f"{line};\n" for line in lines)


def narrowing_sql(env: dict[str, str]) -> str:
    """Return the SQL that takes from the auditor what earlier releases granted: every row, password hashes too.

    And lets it ask for the state of the cloud. Each member's server runs it at its start: it is not replicated, nor
    logged, and a statement that fails ends the server.
    """
    name, word = _sql(env["MYSQL_DBAUDIT_USERNAME"]), _sql(env["MYSQL_DBAUDIT_PASSWORD"])
    state = CLOUD_STATE.read_text() if CLOUD_STATE.exists() else ""
    if state and has_data() and is_of_another_series():
        state = state.splitlines(keepends=True)[-1]  # procedures of before: system tables of another series take none
    return (
        f"{UNLOGGED};\n"
        f"CREATE USER IF NOT EXISTS {name}@'%' IDENTIFIED BY {word};\n"
        f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM {name}@'%';\n"
        f"{state.replace('ADMIN', _sql(env['MYSQL_DBADMIN_USERNAME'])).replace('AUDIT', name)}"
    )


def install() -> None:
    """Make a new database with its accounts. A marker tells a half-made one from one that holds data.

    What a start or a state transfer that was cut short left is removed; of anything else nobody knows what it is worth.
    """
    marker = DATA / INSTALLING
    if marker.exists() or (DATA / COPY).exists():
        marker.touch()
        print("an earlier start was cut short while it made or copied the database: beginning again", flush=True)
        for path in DATA.iterdir():
            if path != marker and path.name != "lost+found":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    elif (DATA / "ibdata1").exists():
        raise SystemExit(
            f"refused: {DATA} holds InnoDB's files without the system tables, which is no whole database: restore the "
            "rest of it, or move these files away"
        )
    marker.touch()
    print("making a new database", flush=True)
    subprocess.run(
        [
            program("mariadb-install-db"),
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
        subprocess.run([program("mariadbd"), "--wsrep-on=OFF", "--skip-networking", f"--init-file={sql}"], check=True)
    finally:
        sql.unlink()
    marker.unlink()
