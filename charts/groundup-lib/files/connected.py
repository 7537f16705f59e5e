#!/usr/bin/env python3
"""Say whether this pod has a connection to the message queue. Usage: connected.py PORT

Reads the kernel's table of connections: a probe that loads OpenStack's libraries costs more than what it looks after.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

ESTABLISHED = "01"
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


def connected(lines: Iterable[str], port: int) -> bool:
    """Return whether one of ``lines`` of the table is an open connection to ``port`` elsewhere."""
    entries = (line.split() for line in lines)
    return any(len(entry) > 3 and entry[2].endswith(f":{port:04X}") and entry[3] == ESTABLISHED for entry in entries)


def main() -> None:
    """Look."""
    port = int(sys.argv[1])
    if not connected((line for table in TABLES if table.exists() for line in table.read_text().splitlines()), port):
        raise SystemExit(f"no connection to the message queue (port {port})")


if __name__ == "__main__":
    main()
