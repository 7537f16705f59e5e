#!/usr/bin/env python3
"""Ends this member when its database runs without most others, though they can be reached: it starts anew with them.

`pause_minority` pauses a member that sees too few others. One that was frozen, or cut off for as long as it takes to be
noticed, sees them again in the same moment: nobody pauses, its database goes on alone, and what members know of
exchanges and bindings differs from then on. Seen in November 2026: a control host that was frozen for 75 s.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import signal
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CONFIGURATION = Path("/etc/rabbitmq/rabbitmq.conf")
PAUSE = float(os.environ.get("REJOIN_PAUSE", "20"))  # seconds between two looks
LASTS = 3  # looks in a row: members that are just finding each other are left alone


def is_alone(me: str, nodes: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the database of ``me`` runs with less than half of the members; of two halves, the later one."""
    running = sorted(str(node["name"]) for node in nodes if node.get("running"))
    missing = sorted(str(node["name"]) for node in nodes if not node.get("running"))
    return me in running and (len(running), missing[:1]) < (len(missing), running[:1])


def reachable(addresses: Sequence[tuple[str, int]]) -> bool:
    """Return whether every other member serves clients: one that is paused, or still starts, does not."""
    for address in addresses:
        try:
            socket.create_connection(address, timeout=5).close()
        except OSError:
            return False
    return True


def ask(port: int, user: str, password: str) -> list[dict[str, Any]]:
    """Return the members as this one's management knows them. Raises OSError, ValueError, HTTPException."""
    token = base64.b64encode(f"{user}:{password}".encode()).decode()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        headers = {"Authorization": f"Basic {token}"}
        connection.request("GET", "/api/nodes?columns=name,running", headers=headers)
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    if answer.status != http.client.OK:
        raise ValueError(f"management answers {answer.status}")
    return list(json.loads(text))


def main() -> None:
    """Look from time to time for as long as the server runs."""
    env, server, configuration = os.environ, os.getppid(), CONFIGURATION.read_text()
    (port,) = re.findall(r"^management[.]tcp[.]port = (\d+)$", configuration, re.M)
    members = re.findall(r"^cluster_formation[.]classic_config[.]nodes[.]\d+ = (\S+)$", configuration, re.M)
    (amqp,) = re.findall(r"^listeners[.]tcp[.]1 = .*:(\d+)$", configuration, re.M)
    me, seen = env["RABBITMQ_NODENAME"], 0
    others = [(one.partition("@")[2], int(amqp)) for one in members if one != me]
    while os.getppid() == server:
        time.sleep(PAUSE)
        try:
            nodes = ask(int(port), env["RABBITMQ_ADMIN_USERNAME"], env["RABBITMQ_ADMIN_PASSWORD"])
        except (OSError, ValueError, http.client.HTTPException):
            continue  # it starts, or it is paused
        seen = seen + 1 if is_alone(me, nodes) and reachable(others) else 0
        if seen >= LASTS:
            print("the database runs without members that can be reached: this member starts anew", flush=True)
            os.kill(server, signal.SIGTERM)
            return


if __name__ == "__main__":
    main()
