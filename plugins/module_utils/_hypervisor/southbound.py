"""Diagnose why ovn-controller cannot reach OVN's southbound database: probe each endpoint as it would."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .pki import OURS

_TIMEOUT = 5.0  # seconds each


@dataclass(frozen=True, slots=True, kw_only=True)
class SouthboundAnswer:
    """The result for one endpoint; ``fault`` is "" when it accepted the connection."""

    kind: str  # taken, tls, refused, silent
    fault: str = ""


def ask(endpoint: str, directory: Path = OURS, *, timeout: float = _TIMEOUT) -> SouthboundAnswer:
    """Connect to ``endpoint`` (ssl:<address>:<port>) with the host's certificate."""
    protocol, _, place = endpoint.partition(":")
    address, _, port = place.rpartition(":")
    try:
        with socket.create_connection((address.strip("[]"), int(port)), timeout=timeout) as plain:
            return _speak(plain, directory, timeout) if protocol == "ssl" else SouthboundAnswer(kind="taken")
    except ConnectionRefusedError as error:
        return SouthboundAnswer(kind="refused", fault=str(error.strerror))
    except (OSError, ValueError) as error:
        return SouthboundAnswer(kind="silent", fault=str(error))


def _speak(plain: socket.socket, directory: Path, timeout: float) -> SouthboundAnswer:
    try:
        context = ssl.create_default_context(cafile=str(directory / "ca.pem"))
        context.check_hostname = False  # like OVN: verify the CA, not the name
        context.load_cert_chain(directory / "certificate.pem", directory / "key.pem")
        with context.wrap_socket(plain) as secure:
            # The server rejects our certificate only after the handshake.
            secure.settimeout(min(timeout, 1.0))
            secure.recv(1)
    except TimeoutError:
        return SouthboundAnswer(kind="taken")  # it waits for a request
    except (ssl.SSLError, ConnectionError) as error:
        return SouthboundAnswer(
            kind="tls", fault=getattr(error, "verify_message", "") or getattr(error, "reason", "") or str(error)
        )
    except OSError as error:
        return SouthboundAnswer(kind="tls", fault=f"{error.filename or directory}: {error.strerror}")
    return SouthboundAnswer(kind="taken")


def judge(state: str, answers: Mapping[str, SouthboundAnswer]) -> str:
    """Return one line: why the database is not reached, and the next step.

    ``state``: ovn-controller's connection-status; ``answers``: the result for each endpoint of its ovn-remote.
    """
    if not answers:
        return f"{state}: it is told no endpoint (ovs-vsctl get Open_vSwitch . external_ids:ovn-remote)"
    said = "; ".join(
        f"{one} {_WORDS[each.kind]}{f' ({each.fault})' * bool(each.fault)}" for one, each in answers.items()
    )
    kinds = {each.kind for each in answers.values()}
    if any("not yet valid" in each.fault for each in answers.values()):
        next_ = "clocks differ: timedatectl, here and on the control hosts"
    elif "tls" in kinds:
        next_ = f"TLS: openssl verify -CAfile {OURS}/ca.pem {OURS}/certificate.pem; timedatectl, for its dates"
    elif "taken" in kinds:
        next_ = "one takes connections: journalctl -n 50 -u ovn-controller, for what the database refuses"
    elif kinds == {"refused"}:
        next_ = (
            "on the control hosts: systemctl status ovn-ovsdb-server-sb; playbook groundup.cloud.network --tags verify"
        )
    else:
        next_ = "the way there: ip route get ADDRESS; firewalls between hypervisors and the management network"
    return f"{state}: {said}. Next: {next_}"


_WORDS = {"taken": "takes the connection", "tls": "fails in TLS", "refused": "refuses", "silent": "does not answer"}
