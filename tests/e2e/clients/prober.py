"""Asks a cloud for six kinds of things twice a second each, without a retry, until its standard input ends.

Prints "ready" when every kind was answered once, and at the end a line of JSON: by kind the requests, those that
failed, the longest and the 99th percentile in seconds, and from the first to the last failure.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import openstack
import requests
import urllib3

EVERY = 0.5  # seconds between two requests of a kind
PATIENCE = 60.0


@dataclass(kw_only=True)
class Kind:
    """One kind of request; each has a connection of its own every time, as a client that just starts."""

    ask: Callable[[], requests.Response]
    seconds: list[float] = field(default_factory=list)
    failed: list[float] = field(default_factory=list)  # when
    faults: list[str] = field(default_factory=list)

    def once(self) -> None:
        """Ask once and note how it went."""
        begin = time.monotonic()
        try:
            answer = self.ask()
            fault = "" if answer.status_code < 400 else f"HTTP {answer.status_code}"
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            fault = type(error).__name__
        self.seconds.append(time.monotonic() - begin)
        if fault:
            self.failed.append(begin)
            self.faults.append(fault)

    def told(self) -> dict[str, Any]:
        """Return the figures."""
        ranked = sorted(self.seconds)
        return {
            "asked": len(ranked), "failed": len(self.failed), "longest": round(ranked[-1], 2),
            "p99": round(ranked[int(len(ranked) * 0.99)], 2),
            "gap": round(self.failed[-1] - self.failed[0], 1) if self.failed else 0,
            "faults": sorted(set(self.faults)),
        }  # fmt: skip


def kinds() -> dict[str, Kind]:
    """Return the kinds, by name."""
    cloud = openstack.connect()
    auth, verify = cloud.config.auth, cloud.session.verify
    url = auth["auth_url"].rstrip("/")
    token = str(cloud.session.get_token())
    identity: dict[str, Any] = {
        "methods": ["password"],
        "password": {
            "user": {
                "name": auth["username"],
                "domain": {"name": auth["user_domain_name"]},
                "password": auth["password"],
            }
        },
    }
    scope = {"project": {"name": auth["project_name"], "domain": {"name": auth["project_domain_name"]}}}
    found = {
        "token": Kind(
            ask=lambda: requests.post(
                f"{url}/auth/tokens", json={"auth": {"identity": identity, "scope": scope}}, verify=verify,
                timeout=PATIENCE,
            )
        )
    }  # fmt: skip

    def of(target: str) -> Kind:
        return Kind(ask=lambda: requests.get(target, headers={"X-Auth-Token": token}, verify=verify, timeout=PATIENCE))

    for name, service, path in (
        ("images", "image", "/v2/images"),
        ("networks", "network", "/v2.0/networks"),
        ("servers", "compute", "/servers"),
        ("placement", "placement", "/resource_providers"),
    ):
        base = cloud.session.get_endpoint(service_type=service, interface="public").rstrip("/")
        found[name] = of(base.removesuffix("/v2").removesuffix("/v2.0") + path)
    kubernetes = os.environ.get("PROBE_KUBERNETES")
    if kubernetes:
        found["kubernetes"] = Kind(ask=lambda: requests.get(f"{kubernetes}/readyz", verify=False, timeout=PATIENCE))  # noqa: S501
    return found


def main() -> None:
    """Ask until standard input ends."""
    urllib3.disable_warnings()
    asked, ended = kinds(), threading.Event()

    def keep(kind: Kind) -> None:
        begin = time.monotonic()
        while not ended.wait(max(0.0, begin + EVERY * len(kind.seconds) - time.monotonic())):
            kind.once()

    for kind in asked.values():
        kind.once()
        if kind.failed:
            sys.exit(f"not even at rest: {[kind.told() for kind in asked.values() if kind.seconds]}")
    threads = [threading.Thread(target=keep, args=(kind,)) for kind in asked.values()]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    sys.stdin.read()
    ended.set()
    for thread in threads:
        thread.join()
    print(json.dumps({name: kind.told() for name, kind in asked.items()}), flush=True)


if __name__ == "__main__":
    main()
