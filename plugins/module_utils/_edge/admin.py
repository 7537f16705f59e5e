"""Talk to this host's HAProxy by its admin socket."""

from __future__ import annotations

import csv
import socket

from .._base.errors import GroundupError

ADMIN_SOCKET = "/run/haproxy/admin.sock"
PATIENCE = 10.0  # seconds for an answer: also where the host has more to do than it can


def statistics() -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return the state of each listener and server of this host's HAProxy. Raises GroundupError."""
    return parse(said("show stat"))


def told(command: str) -> None:
    """Have HAProxy obey ``command``. Raises GroundupError when it says anything, as it does when it does not obey."""
    if refused := said(command).strip():
        raise GroundupError(
            f"HAProxy does not obey: {refused}",
            where=f"{ADMIN_SOCKET}: {command}",
            why="an API server would get requests while it restarts, or none after it",
            remedy="run the playbook groundup.cloud.kubernetes, which writes HAProxy's configuration",
        )


def said(command: str) -> str:
    """Return HAProxy's answer to ``command`` on its admin socket. Raises GroundupError."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE)
        try:
            connection.connect(ADMIN_SOCKET)
            connection.sendall(f"{command}\n".encode())
            return b"".join(iter(lambda: connection.recv(65536), b"")).decode()
        except OSError as error:
            raise GroundupError(
                "HAProxy does not answer on its admin socket",
                where=ADMIN_SOCKET,
                why=str(error),
                remedy="systemctl status haproxy; journalctl -u haproxy -n 50",
            ) from None


def parse(text: str) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return listeners and servers from the CSV of HAProxy's ``show stat``."""
    listeners: dict[str, str] = {}
    servers: dict[str, dict[str, str]] = {}
    for row in csv.DictReader(text.removeprefix("# ").splitlines()):
        if row["svname"] == "FRONTEND":
            listeners[row["pxname"]] = row["status"]
        elif row["svname"] != "BACKEND":
            servers.setdefault(row["pxname"], {})[row["svname"]] = row["status"]
    return listeners, servers
