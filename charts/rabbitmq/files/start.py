#!/usr/bin/env python3
"""Prepares a RabbitMQ node's cookie and accounts, has a new cluster's first member be the oldest, becomes the server.

The accounts are written as definitions the server reads at every start, so that a changed password holds after a
restart.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

HOME = Path("/var/lib/rabbitmq")
COOKIE = Path("/run/secrets/rabbitmq/erlang_cookie")


def password_hash(password: str, salt: bytes) -> str:
    """Return ``password`` as RabbitMQ stores it: base64 of a 4-byte salt and the digest of salt and password."""
    return base64.b64encode(salt + hashlib.sha256(salt + password.encode()).digest()).decode("ascii")


def definitions(admin: str, admin_password: str, guest_password: str) -> dict[str, Any]:
    """Return the accounts: the administrator, and guest with a password nobody was born with."""

    def user(name: str, password: str, tags: list[str]) -> dict[str, Any]:
        hashed = password_hash(password, os.urandom(4))
        return {
            "name": name,
            "password_hash": hashed,
            "hashing_algorithm": "rabbit_password_hashing_sha256",
            "tags": tags,
        }

    everything = {"configure": ".*", "write": ".*", "read": ".*"}
    return {
        "vhosts": [{"name": "/"}],
        "users": [user(admin, admin_password, ["administrator"]), user("guest", guest_password, [])],
        "permissions": [{"user": admin, "vhost": "/", **everything}],
    }


def private_file(path: Path, text: str) -> None:
    """Write ``text`` to ``path``, readable by the owner alone, all or nothing."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), "w") as file:
        file.write(text)
    draft.replace(path)


def wait_for(address: str) -> None:
    """Return when something accepts connections at ``address`` (host:port)."""
    host, port = address.rsplit(":", 1)
    started = time.monotonic()
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
        except OSError as error:
            print(
                f"a new member waits for the first one, {address}: {error} ({time.monotonic() - started:.0f} s)",
                flush=True,
            )
            time.sleep(3)
        else:
            return


def main() -> None:
    """Prepare, wait where needed, become the server."""
    # The first process of a container is ended by a signal only if it says so; the server's own handlers follow.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to end"))
    private_file(HOME / ".erlang.cookie", COOKIE.read_text())
    env = os.environ
    accounts = definitions(
        env["RABBITMQ_ADMIN_USERNAME"], env.pop("RABBITMQ_ADMIN_PASSWORD"), env.pop("RABBITMQ_GUEST_PASSWORD")
    )
    private_file(HOME / "definitions.json", json.dumps(accounts))
    # New members agree on the oldest of those they reach, and that one goes on when it reaches one other. So the first
    # has to be the oldest, and the others come while it still looks for them: as soon as its Erlang listens. In any
    # other order a late but older one could found a second cluster. One that has data finds its way back.
    if not env["POD_NAME"].endswith("-0") and not (HOME / "mnesia").is_dir():
        wait_for(env["FIRST_MEMBER"])
    server = shutil.which("rabbitmq-server")
    if server is None:
        sys.exit("rabbitmq-server is not in the image's PATH")
    os.execv(server, [server])  # noqa: S606 - the container becomes the server


if __name__ == "__main__":
    main()
