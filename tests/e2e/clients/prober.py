"""Asks a cloud for seven kinds of things twice a second each, without a retry, until its standard input ends.

One of them writes. Prints "ready" when every kind was answered once, and at the end a line of JSON: by kind the
requests, those that failed, the longest and the 99th percentile in seconds, from the first to the last failure, and how
many of the acknowledged writes are gone.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import openstack
import requests
import urllib3

EVERY = 0.5  # seconds between two requests of a kind
PATIENCE = 60.0
SETTLED = 300.0  # seconds in which the cloud must answer again, so that the written can be counted
PREFIX = "groundup-probe-"

T = TypeVar("T")


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


@dataclass(kw_only=True)
class Writer:
    """Writes regions, which are rows of Keystone's and nothing else; what was acknowledged must be there."""

    url: str
    token: str
    verify: Any
    asked: int = 0
    written: set[str] = field(default_factory=set)

    def write(self) -> requests.Response:
        """Write one."""
        self.asked += 1
        name = f"{PREFIX}{os.getpid()}-{self.asked}"
        answer = requests.post(
            f"{self.url}/regions", json={"region": {"id": name}}, headers={"X-Auth-Token": self.token},
            verify=self.verify, timeout=PATIENCE,
        )  # fmt: skip
        if answer.status_code == requests.codes.created:
            self.written.add(name)
        return answer

    def lost(self, cloud: openstack.connection.Connection) -> int:
        """Return how many acknowledged ones are gone, and delete all."""
        found = again(lambda: {region.id for region in cloud.identity.regions() if region.id.startswith(PREFIX)})
        for name in found:
            again(partial(cloud.identity.delete_region, name))
        return len(self.written - found)


def again(ask: Callable[[], T]) -> T:
    """Return what ``ask`` says, asked again while the cloud settles."""
    end = time.monotonic() + SETTLED
    while True:
        try:
            return ask()
        except (openstack.exceptions.SDKException, requests.RequestException):
            if time.monotonic() > end:
                raise
            time.sleep(1.0)


def kinds(cloud: openstack.connection.Connection) -> tuple[dict[str, Kind], Writer]:
    """Return the kinds, by name, and who writes."""
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
    writer = Writer(url=url, token=token, verify=verify)
    found["written"] = Kind(ask=writer.write)
    kubernetes = os.environ.get("PROBE_KUBERNETES")
    if kubernetes:
        found["kubernetes"] = Kind(ask=lambda: requests.get(f"{kubernetes}/readyz", verify=False, timeout=PATIENCE))  # noqa: S501
    return found, writer


def main() -> None:
    """Ask until standard input ends."""
    urllib3.disable_warnings()
    cloud, ended = openstack.connect(), threading.Event()
    asked, writer = kinds(cloud)

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
    found = {name: kind.told() for name, kind in asked.items()}
    found["written"]["lost"] = writer.lost(cloud)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
