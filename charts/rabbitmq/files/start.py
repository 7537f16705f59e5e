#!/usr/bin/env python3
"""Prepares a RabbitMQ node's cookie and accounts, has a new cluster's first member be the oldest, becomes the server.

A member whose volume is new joins the cluster it was in: the others forget first that it was there.

The accounts are written as definitions the server reads at every start, so that a changed password holds after a
restart.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HOME = Path("/var/lib/rabbitmq")
COOKIE = Path("/run/secrets/rabbitmq/erlang_cookie")
CONFIGURATION = Path("/etc/rabbitmq/rabbitmq.conf")


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


def be_forgotten(me: str, configuration: str) -> None:
    """Have a running cluster forget the member ``me``, which has lost its data.

    A member that it knows is not let in as a new one: it would found a second cluster. Where none is, nothing is done:
    the port of AMQP opens when a member has booted.
    """
    members = re.findall(r"^cluster_formation[.]classic_config[.]nodes[.]\d+ = (\S+)$", configuration, re.M)
    port = re.findall(r"^listeners[.]tcp[.]1 = .*:(\d+)$", configuration, re.M)
    for member in (member for member in members if member != me):
        try:
            socket.create_connection((member.partition("@")[2], int(port[0])), timeout=5).close()
        except OSError:
            continue
        command = ["rabbitmqctl", "--quiet", "--longnames", "--node", member, "forget_cluster_node", me]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        said = "forgets that this member was there" if done.returncode == 0 else (done.stderr or done.stdout).strip()
        print(f"this member has no data; {member}: {said}", flush=True)
        return


def main() -> None:
    """Prepare, wait where needed, become the server."""
    # The first process of a container is ended by a signal only if it says so; the server's own handlers follow.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to end"))
    private_file(HOME / ".erlang.cookie", COOKIE.read_text())
    env, configuration = os.environ, CONFIGURATION.read_text()
    password = env.pop("RABBITMQ_ADMIN_PASSWORD")
    accounts = definitions(env["RABBITMQ_ADMIN_USERNAME"], password, env.pop("RABBITMQ_GUEST_PASSWORD"))
    private_file(HOME / "definitions.json", json.dumps(accounts))
    # New members agree on the oldest of those they reach, and that one goes on when it reaches one other. So the first
    # has to be the oldest, and the others come while it still looks for them: as soon as its Erlang listens. In any
    # other order a late but older one could found a second cluster. One that has data finds its way back.
    if not (HOME / "mnesia").is_dir():
        if not env["POD_NAME"].endswith("-0"):
            wait_for(env["FIRST_MEMBER"])
        be_forgotten(env["RABBITMQ_NODENAME"], configuration)
    if "cluster_formation" in configuration:
        watch = [sys.executable, str(Path(__file__).with_name("rejoin.py"))]
        subprocess.Popen(watch, env={**env, "RABBITMQ_ADMIN_PASSWORD": password})  # beside the server, and ends with it
    server = shutil.which("rabbitmq-server")
    if server is None:
        sys.exit("rabbitmq-server is not in the image's PATH")
    os.execv(server, [server])  # noqa: S606 - the container becomes the server


if __name__ == "__main__":
    main()
