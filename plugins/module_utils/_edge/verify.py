"""Ask the virtual IP, and HAProxy of one control host, whether the edge serves."""

from __future__ import annotations

import hashlib
import re
import socket
import ssl
from collections.abc import Sequence
from typing import Any

from .._base import files
from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.wait import wait_until
from .._host.interfaces import carrying
from . import public
from .admin import said, statistics
from .serve import PEM

LEAF = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)  # the first
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


def check_certificate(address: str, port: int, name: str, *, timeout: float) -> bytes:
    """Return in DER the certificate for ``name`` at ``address``, which this host must trust. Raises GroundupError."""
    context = ssl.create_default_context()
    try:
        with (
            socket.create_connection((address, port), timeout=timeout) as raw,
            context.wrap_socket(raw, server_hostname=name) as served,
        ):
            return served.getpeercert(binary_form=True) or b""
    except (OSError, ssl.SSLError) as error:
        raise GroundupError(
            f"no trusted TLS connection to {name}",
            where=f"{address}:{port}, asked from this host",
            why=str(error),
            remedy="run the playbooks secrets, host and kubernetes: certificate, trust store and edge, in this order",
        ) from None


def check_loaded(wanted: bytes) -> None:
    """Check that this host's HAProxy has loaded the certificate ``wanted`` (DER). Raises GroundupError."""
    print_of = hashlib.sha1(wanted, usedforsecurity=False).hexdigest()  # the one that HAProxy tells
    if print_of not in said(f"show ssl cert {PEM}").replace(":", "").lower():
        raise _another(f"{PEM} on this host", "HAProxy has loaded another one than the site's, or than the file has")


def check_served(served: bytes, wanted: bytes, *, name: str, address: str) -> None:
    """Check that ``address`` presents ``wanted``. Raises GroundupError."""
    if served != wanted:
        raise _another(f"{name} at {address}:{HTTPS}", "the control host that holds the virtual IP has another one")


def _another(where: str, why: str) -> GroundupError:
    return GroundupError(
        "HAProxy serves another certificate than the site's",
        where=where,
        why=why,
        remedy="run the playbook groundup.cloud.certificate (with edge.certificate in the site file) or kubernetes, "
        "without --limit; journalctl -u haproxy on that host",
    )


def _first(pem: str) -> bytes:
    """Return the first certificate in DER; empty without one."""
    leaf = LEAF.search(pem)
    return ssl.PEM_cert_to_DER_cert(leaf[0]) if leaf else b""


def verify(_: Changes, wanted: dict[str, Any]) -> dict[str, Any]:
    """Verify the edge and return the module's result. Raises GroundupError."""
    address = wanted["virtual_ip"]
    wait_for_ports(address, wanted["ports"], timeout=wanted["timeout"])
    own = _first(wanted["certificate"])
    users = wanted["public_ip"]
    if users:
        wait_for_ports(users, [HTTPS], timeout=wanted["timeout"])
        public.check(wanted["public_address"], users, management=wanted["address"])
    asked = [(address, name) for name in wanted["names"]] + [(users, name) for name in wanted["public_names"]]
    for at, name in asked:
        served = check_certificate(at, HTTPS, name, timeout=max(PATIENCE, wanted["timeout"]))
        if own:
            check_served(served, own, name=name, address=at)
    if loaded := own or _first(files.read(PEM) or ""):
        check_loaded(loaded)
    listeners, servers = statistics()
    return {
        "changed": False,
        "holds_address": carrying(address) is not None,
        **({"holds_public": carrying(users) is not None} if users else {}),
        "listeners": listeners,
        "servers": servers,
    }
