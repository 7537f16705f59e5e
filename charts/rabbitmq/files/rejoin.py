#!/usr/bin/env python3
"""Ends this member when RabbitMQ keeps it on record as partitioned, though it runs with the others: it starts anew.

`pause_minority` pauses a member that sees too few others. One that was frozen, or cut off for as long as it takes to be
noticed, sees them again in the same moment: nobody pauses, and what members know of exchanges and bindings may differ
from then on. A new start of the odd member clears it. Seen in November 2026: a control host that was frozen for 75 s.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CONFIGURATION = Path("/etc/rabbitmq/rabbitmq.conf")
PAUSE = float(os.environ.get("REJOIN_PAUSE", "20"))  # seconds between two looks
LASTS = 3  # looks in a row: members that are just finding each other are left alone


def partitions(nodes: Sequence[Mapping[str, Any]]) -> dict[str, frozenset[str]]:
    """Return by member whom it has on record as partitioned; {} unless all of them run and say so."""
    if not all(node.get("running") for node in nodes):
        return {}
    return {str(node["name"]): frozenset(node.get("partitions") or ()) for node in nodes}


def is_odd(me: str, found: Mapping[str, frozenset[str]]) -> bool:
    """Return whether ``me`` is the one to start anew: it lists most others, and of two that list as many, the last."""
    mine = found.get(me, frozenset())
    return bool(mine) and all((len(mine), me) > (len(found.get(one, ())), one) for one in mine)


def ask(port: int, user: str, password: str) -> list[dict[str, Any]]:
    """Return the members as this one's management knows them. Raises OSError, ValueError, HTTPException."""
    token = base64.b64encode(f"{user}:{password}".encode()).decode()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        headers = {"Authorization": f"Basic {token}"}
        connection.request("GET", "/api/nodes?columns=name,running,partitions", headers=headers)
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    if answer.status != http.client.OK:
        raise ValueError(f"management answers {answer.status}")
    return list(json.loads(text))


def main() -> None:
    """Look from time to time for as long as the server runs."""
    env, server = os.environ, os.getppid()
    (port,) = re.findall(r"^management[.]tcp[.]port = (\d+)$", CONFIGURATION.read_text(), re.M)
    me, seen = env["RABBITMQ_NODENAME"], 0
    while os.getppid() == server:
        time.sleep(PAUSE)
        try:
            found = partitions(ask(int(port), env["RABBITMQ_ADMIN_USERNAME"], env["RABBITMQ_ADMIN_PASSWORD"]))
        except (OSError, ValueError, http.client.HTTPException):
            continue  # it starts, or it is paused
        seen = seen + 1 if is_odd(me, found) else 0
        if seen >= LASTS:
            others = ", ".join(sorted(found[me]))
            print(f"a partition from {others} stays on record: this member starts anew", flush=True)
            os.kill(server, signal.SIGTERM)
            return


if __name__ == "__main__":
    main()
