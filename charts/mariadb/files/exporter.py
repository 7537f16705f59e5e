#!/usr/bin/env python3
"""Tells what a Galera member says of itself, as mysqld_exporter does, to whoever asks for /metrics.

And what the databases say of the cloud: services that report, as openstack-exporter does, and what failed or is stuck.
A container of its own, with an account that may read no row. Standard library and MariaDB's client only: it runs in the
database's own image.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

PASSWORD = Path("/run/secrets/audit/MYSQL_DBAUDIT_PASSWORD")  # read each time: it may be rotated
PATIENCE = 2  # seconds for the member to answer
STATUS = (
    "wsrep_cluster_size", "wsrep_cluster_status", "wsrep_local_state", "wsrep_ready", "wsrep_last_committed",
    "wsrep_local_recv_queue", "wsrep_local_send_queue", "wsrep_local_cert_failures", "wsrep_flow_control_paused_ns",
    "wsrep_flow_control_sent", "wsrep_flow_control_recv", "Threads_connected", "Threads_running", "Aborted_connects",
    "Queries", "Slow_queries", "Uptime",
)  # fmt: skip
QUESTION = (
    f"SHOW GLOBAL STATUS WHERE Variable_name IN {STATUS}; SHOW GLOBAL VARIABLES WHERE Variable_name = 'max_connections'"
)
WORDS = {"Primary": "1", "ON": "1"}
# Procedures of cloud_state.sql. They count over whole tables: what they answer is kept for a while.
CLOUD = "; ".join(
    f"CALL groundup.{name}()"
    for name in (
        "nova_agents", "cinder_agents", "neutron_agents", "nova_objects", "cinder_objects", "octavia_objects",
    )
)  # fmt: skip
CLOUD_EVERY, CLOUD_PATIENCE = 30, 20  # seconds
OBJECTS, STATES = "groundup_cloud_objects", ("error", "failed", "stuck")
cloud: list[str] = []  # lines


def ask(question: str, *options: str, patience: float) -> list[list[str]]:
    """Return the rows of the member's answers; none: it does not answer, or refuses."""
    client = [
        "mariadb", "--no-defaults", "--host=127.0.0.1", f"--port={os.environ['MYSQL_PORT']}",
        f"--user={os.environ['AUDIT_USERNAME']}", f"--connect-timeout={PATIENCE}", "--skip-column-names", "--batch",
        *options,
    ]  # fmt: skip
    try:
        env = {**os.environ, "MYSQL_PWD": PASSWORD.read_text()}
        # Not --execute, with which --force is nothing.
        done = subprocess.run(
            client, env=env, input=question, capture_output=True, encoding="utf-8", errors="replace",
            timeout=patience, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return []
    return [row.split("\t") for row in done.stdout.splitlines()]


def told() -> str:
    """Return the metrics of the member; one that does not answer is not up."""
    rows = ask(QUESTION, patience=2 * PATIENCE)
    if not rows:
        return "mysql_up 0\n"
    lines = ["mysql_up 1"]
    for name, value in rows:
        kind = "status" if name in STATUS else "variables"
        number = value if value.lstrip("-").isdecimal() else WORDS.get(value, "0")
        lines.append(f"mysql_global_{kind}_{name.lower()} {number}")
    return "\n".join([*lines, *cloud]) + "\n"


def told_of_cloud() -> list[str]:
    """Return the metrics of the cloud; of a service whose tables are not there, or not to be had, there are none."""
    lines = []
    for name, first, *rest in ask(CLOUD, "--force", patience=CLOUD_PATIENCE):
        if name == OBJECTS:
            lines += [_line(name, number, kind=first, state=state) for state, number in zip(STATES, rest, strict=True)]
        else:
            lines.append(_line(name, rest[2], service=first, hostname=rest[0], adminState=rest[1]))
    return lines


def _line(name: str, value: str, **labels: str) -> str:
    return f"{name}{{{','.join(f'{key}={json.dumps(word)}' for key, word in labels.items())}}} {value}"


def watch_cloud() -> None:
    """Ask for the state of the cloud, again and again."""
    while True:
        cloud[:] = told_of_cloud()
        time.sleep(CLOUD_EVERY)


class Metrics(BaseHTTPRequestHandler):
    """Answers one request."""

    timeout = PATIENCE  # seconds for a client to ask

    def do_GET(self) -> None:
        """Answer with the metrics."""
        if self.path != "/metrics":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(told().encode())

    def log_message(self, *_: object) -> None:
        """Keep no line of each request."""


if __name__ == "__main__":
    # The first process of a container is ended by a signal only if it says so.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    threading.Thread(target=watch_cloud, daemon=True).start()
    HTTPServer(("", int(os.environ["METRICS_PORT"])), Metrics).serve_forever()
