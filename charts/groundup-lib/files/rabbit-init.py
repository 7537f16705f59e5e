#!/usr/bin/env python3
"""Make a service's virtual host and account in RabbitMQ, or bring the account's password up to date.

RABBITMQ_ADMIN_CONNECTION and RABBITMQ_USER_CONNECTION are URLs of the management API, the second with the service's
account and virtual host. Safe to repeat.
"""

from __future__ import annotations

import base64
import json
import os
import time
import urllib.error
import urllib.request
from urllib.parse import quote, unquote, urlsplit

WAIT = 300.0  # seconds RabbitMQ may be away
PAUSE = 3.0
SERVER_ERROR = 500


def requests(user_url: str) -> list[tuple[str, dict[str, str]]]:
    """Return path and body of every request that makes what ``user_url`` names."""
    user = urlsplit(user_url)
    host = quote(user.path.lstrip("/") or "/", safe="")
    name = quote(unquote(user.username or ""), safe="")
    return [
        (f"vhosts/{host}", {}),
        (f"users/{name}", {"password": unquote(user.password or ""), "tags": ""}),
        (f"permissions/{host}/{name}", {"configure": ".*", "write": ".*", "read": ".*"}),
    ]


def put(admin_url: str, path: str, body: dict[str, str]) -> None:
    """Send one request, again as long as RabbitMQ is away."""
    admin = urlsplit(admin_url)
    login = f"{unquote(admin.username or '')}:{unquote(admin.password or '')}"
    request = urllib.request.Request(
        f"http://{admin.hostname}:{admin.port or 15672}/api/{path}",
        method="PUT",
        data=json.dumps(body).encode(),
        headers={
            "Content-Type": "application/json",
            "Authorization": f"Basic {base64.b64encode(login.encode()).decode()}",
        },
    )
    end = time.monotonic() + WAIT
    while True:
        try:
            with urllib.request.urlopen(request, timeout=30):  # noqa: S310  # RabbitMQ's own URL
                print(f"{path}: there", flush=True)
                return
        except OSError as error:
            refused = isinstance(error, urllib.error.HTTPError) and error.code < SERVER_ERROR
            if refused or time.monotonic() > end:
                raise SystemExit(f"{path}: {error}") from None
            print(f"RabbitMQ does not answer yet: {error}", flush=True)
            time.sleep(PAUSE)


def main() -> None:
    """Make them."""
    for path, body in requests(os.environ["RABBITMQ_USER_CONNECTION"]):
        put(os.environ["RABBITMQ_ADMIN_CONNECTION"], path, body)


if __name__ == "__main__":
    main()
