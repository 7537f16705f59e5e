"""Ask the virtual IP, and HAProxy of one control host, whether the edge serves."""

from __future__ import annotations

import csv
import socket
import ssl
from collections.abc import Sequence
from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.wait import wait_until
from .._host.interfaces import carrying

ADMIN_SOCKET = "/run/haproxy/admin.sock"
HTTPS = 443
PATIENCE = 3.0  # seconds for one connection


def wait_for_ports(address: str, ports: Sequence[int], *, timeout: float) -> None:
    """Wait until ``address`` accepts a connection on every port. Raises GroundupError."""
    if silent := wait_until(lambda: _silent(address, ports), timeout=timeout, pause=0.2):
        port, fault = next(iter(silent.items()))
        raise GroundupError(
            f"the edge does not answer on port {port}",
            where=f"{address}:{port}, asked from this host",
            why=f"{fault}: no host holds the address, or HAProxy does not listen there",
            remedy="journalctl -u keepalived -u haproxy on the control hosts",
        )


def _silent(address: str, ports: Sequence[int]) -> dict[int, str]:
    faults = {}
    for port in ports:
        try:
            socket.create_connection((address, port), timeout=PATIENCE).close()
        except OSError as error:
            faults[port] = str(error)
    return faults


def check_certificate(address: str, port: int, name: str, *, timeout: float) -> None:
    """Check that ``address`` presents a certificate for ``name`` that this host trusts. Raises GroundupError."""
    context = ssl.create_default_context()
    try:
        with (
            socket.create_connection((address, port), timeout=timeout) as raw,
            context.wrap_socket(raw, server_hostname=name),
        ):
            return
    except (OSError, ssl.SSLError) as error:
        raise GroundupError(
            f"no trusted TLS connection to {name}",
            where=f"{address}:{port}, asked from this host",
            why=str(error),
            remedy="run the playbooks secrets, host and kubernetes: certificate, trust store and edge, in this order",
        ) from None


def statistics() -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return the state of each listener and server of this host's HAProxy. Raises GroundupError."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE)
        try:
            connection.connect(ADMIN_SOCKET)
            connection.sendall(b"show stat\n")
            text = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
        except OSError as error:
            raise GroundupError(
                "HAProxy does not answer on its admin socket",
                where=ADMIN_SOCKET,
                why=str(error),
                remedy="systemctl status haproxy; journalctl -u haproxy -n 50",
            ) from None
    return parse(text)


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


def verify(_: Changes, wanted: dict[str, Any]) -> dict[str, Any]:
    """Verify the edge and return the module's result. Raises GroundupError."""
    address = wanted["virtual_ip"]
    wait_for_ports(address, wanted["ports"], timeout=wanted["timeout"])
    for name in wanted["names"]:
        check_certificate(address, HTTPS, name, timeout=max(PATIENCE, wanted["timeout"]))
    listeners, servers = statistics()
    return {
        "changed": False,
        "holds_address": carrying(address) is not None,
        "listeners": listeners,
        "servers": servers,
    }
