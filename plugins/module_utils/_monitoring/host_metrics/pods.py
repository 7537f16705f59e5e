"""The pods on this host, as the container runtime knows them, and a question to one over its network.

Nothing enters a pod, and none of its files is read. What one answers is its own word: short, in time, and no more.
"""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from . import answers
from .samples import PATIENCE

CRICTL = Path("/usr/local/bin/crictl")  # of nodes alone
_RUNTIME = 10.0  # seconds for the container runtime


class Pod(NamedTuple):
    """A pod that runs."""

    workload: str
    name: str
    address: str


def running(namespace: str, workloads: Iterable[str]) -> list[Pod]:
    """Return the pods of StatefulSets ``workloads`` on this host. Raises OSError, SubprocessError."""
    if not CRICTL.exists():
        return []
    names = f"^({'|'.join(workloads)})-[0-9]+$"
    found = _crictl("pods", "--quiet", "--state", "ready", "--namespace", f"^{namespace}$", "--name", names).split()
    said = json.loads(_crictl("inspectp", "--quiet", "--output", "json", *found)) if found else []
    each = [one["status"] for one in (said if isinstance(said, list) else [said])]  # of one alone, no list
    # Of two with one name, the newer one.
    addresses = {
        one["metadata"]["name"]: one["network"]["ip"] for one in sorted(each, key=lambda one: one["createdAt"])
    }
    # Without an address, it has the host's network.
    return [Pod(name.rpartition("-")[0], name, address) for name, address in addresses.items() if address]


def _crictl(*words: str) -> str:
    return subprocess.run(
        (str(CRICTL), *words), stdout=subprocess.PIPE, text=True, timeout=_RUNTIME, check=True
    ).stdout  # fmt: skip


def ask(pod: Pod, port: int, question: bytes) -> str:
    """Return what a server in ``pod`` answers until it closes. Raises OSError when nobody does, or not as it should."""
    end = time.monotonic() + PATIENCE
    with socket.create_connection((pod.address, port), timeout=PATIENCE) as connection:
        return answers.whole(connection, question, end=end)


def fetch(pod: Pod, port: int, path: str) -> str:
    """Return what a server in ``pod`` answers to an HTTP request. Raises OSError."""
    end = time.monotonic() + PATIENCE
    with socket.create_connection((pod.address, port), timeout=PATIENCE) as connection:
        return answers.page(connection, path, host=pod.name, end=end)
