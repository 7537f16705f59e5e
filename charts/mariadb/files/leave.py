#!/usr/bin/env python3
"""Hands over a Galera member's clients before its server is told to end: the preStop hook of its container.

Service `mariadb` leads to the writer, and goes on while that pod ends. So the server serves until the controller has
named another member (mariadb_controller.py) and proxies lead there. Then idle connections end, again and again: oslo.db
tries a connection before it uses it, and makes a new one, to the new writer. On a busy machine its query comes late:
those that were used just now are left alone at first. A transaction may come to its end.

Every wait has an end, whatever the Kubernetes API or the server says, and the pod ends after this program however it
went. Usage: leave.py WRITER_LABEL. Standard library only: it runs in the database's own image.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.error
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shared_object import NOT_FOUND, Api

PAUSE = 0.5  # seconds between looks
ANSWER = 2.0  # seconds for an answer of the Kubernetes API
NAMING = 20.0  # seconds for another writer to be named; the controller looks every two
SETTLING = 3.0  # seconds for proxies to lead to it
LETTING_GO = 25.0  # seconds for transactions to end, and their connections with them
# Milliseconds that a client which is let go is idle, until these seconds. At last it is one that is busy nearly all the
# time, too: its query would end with the server.
STAGES = ((6.0, 2000), (12.0, 500), (LETTING_GO, 200))
LOOKING = 1  # seconds that the server itself looks, again and again
RELEASE = Path(__file__).with_name("health.sh")
RELEASING = 6.0  # seconds for the server to look and to end connections
LOG = Path("/proc/1/fd/1")  # what a hook prints goes nowhere: this is the log of the container


def main() -> None:
    """Wait for another writer, let clients go, and say both in the container's log."""
    label, begun = sys.argv[1], time.monotonic()
    named, word = Members.of_this_pod().another_writes(label)
    if named:
        word += f"; {let_go()}"
    with suppress(OSError), LOG.open("a") as log:
        log.write(f"leaving after {time.monotonic() - begun:.1f} s: {word}\n")


@dataclass(frozen=True)
class Members:
    """The members' pods, as the API has them."""

    api: Api
    path: str
    own: str
    others: tuple[str, ...]

    @classmethod
    def of_this_pod(cls) -> Members:
        """Return those of the StatefulSet that this pod belongs to."""
        own, count = os.environ["POD_NAME"], int(os.environ["MEMBERS"])
        stem = own.rpartition("-")[0]
        names = [f"{stem}-{number}" for number in range(count)]
        path = f"/api/v1/namespaces/{os.environ['NAMESPACE']}/pods"
        return cls(Api(patience=ANSWER), path, own, tuple(name for name in names if name != own))

    def another_writes(self, label: str) -> tuple[bool, str]:
        """Wait until this member does not wear ``label``. Return whether that came, and what was seen last."""
        end = time.monotonic() + NAMING
        while True:
            try:
                if self._labels().get(label) != "true":
                    return True, "this member does not write"
                if not any(self._stays(name) for name in self.others):
                    return False, "no other member stays"
                word = "no other member was named the writer"
            except OSError as error:
                word = f"the Kubernetes API says {error}"
            if time.monotonic() >= end:
                return False, word
            time.sleep(PAUSE)

    def _labels(self) -> dict[str, str]:
        return dict(self.api.call("GET", f"{self.path}/{self.own}")["metadata"].get("labels") or {})

    def _stays(self, name: str) -> bool:
        try:
            return "deletionTimestamp" not in self.api.call("GET", f"{self.path}/{name}")["metadata"]
        except urllib.error.HTTPError as error:
            if error.code != NOT_FOUND:
                raise
            return False


def let_go() -> str:
    """End idle connections until no client is left. Return how it ended."""
    begun = time.monotonic()
    while True:
        spent = time.monotonic() - begun
        idle = next((idle for until, idle in STAGES if spent < until), STAGES[-1][1])
        command = [RELEASE, "release", str(idle), str(LOOKING)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=RELEASING, check=True)
            left = int(done.stdout)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            return f"its server lets no client go: {error}"
        spent = time.monotonic() - begun
        if spent >= LETTING_GO or (not left and spent >= SETTLING):
            return f"{left} of its clients are left"
        time.sleep(PAUSE)


if __name__ == "__main__":
    main()
