"""Asks the Kubernetes API and the APIs of a cloud, by new connections and by kept ones, and counts what failed.

Usage: ci/lab shell python tests/e2e/serving.py [--kubernetes KUBECONFIG] [--server URL] [--openstack] [--every SECONDS]

Prints "ready" when each lane was answered once, asks until standard input ends, then prints a line of JSON: by lane how
many requests were sent, failed (answered by an error) or unanswered, percentiles, the longest time without a good
answer, the causes, and the first faults with what the server said. A line on standard input names what is done to the
servers from then on: faults have it as their step. Exit code 1 when something failed or could not be measured.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import itertools
import json
import os
import ssl
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml
from ansible_collections.groundup.cloud.tests.e2e.probing import EVERY, Ask, Asked, Line, RefusedError, both, served
from ansible_collections.groundup.cloud.tests.e2e.watching import Watch

PREFIX = f"groundup-probe-{os.getpid()}"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
_NUMBERS = itertools.count()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Where the Kubernetes API is, and how it is asked."""

    server: str
    context: ssl.SSLContext
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, kubeconfig: Path, *, server: str | None = None) -> Cluster:
        """Return the cluster of the current context; ``server`` instead of its own."""
        content = yaml.safe_load(kubeconfig.read_text())
        chosen = next(one["context"] for one in content["contexts"] if one["name"] == content["current-context"])
        cluster = next(one["cluster"] for one in content["clusters"] if one["name"] == chosen["cluster"])
        user = next(one["user"] for one in content["users"] if one["name"] == chosen["user"])
        context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        if "client-key-data" in user:
            with tempfile.NamedTemporaryFile() as pair:  # mode 0600; the library reads files only
                for part in ("client-certificate-data", "client-key-data"):
                    pair.write(base64.b64decode(user[part]) + b"\n")
                pair.flush()
                context.load_cert_chain(pair.name)
        headers = {"Authorization": f"Bearer {user['token']}"} if "token" in user else {}
        return cls(server=server or cluster["server"], context=context, headers=headers)

    def lanes(self) -> Iterator[tuple[str, Asked]]:
        """Yield what is asked: a read, and a small object that is made and deleted."""

        def read(ask: Ask) -> None:
            ask("GET", "/version", headers=self.headers)

        def write(ask: Ask) -> None:
            name = f"{PREFIX}-{next(_NUMBERS)}"
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {PREFIX: "here"}}}
            ask("POST", CONFIG_MAPS, body=body, headers=self.headers)
            ask("DELETE", f"{CONFIG_MAPS}/{name}", headers=self.headers)

        for kind, work in (("read", read), ("write", write)):
            for name, lane in both(self.server, work, context=self.context):
                yield f"kubernetes {kind} {name}", lane

    def swept(self) -> None:
        """Delete what failed rounds left. Raises RefusedError, OSError, HTTPException."""
        line = Line(self.server, context=self.context, kept=False)
        line.ask("DELETE", f"{CONFIG_MAPS}?{urlencode({'labelSelector': PREFIX})}", headers=self.headers)


class Cloud:
    """A cloud's APIs, asked as its administrator with a token that is kept."""

    def __init__(self, auth: Mapping[str, str], *, region: str, trust: str | None) -> None:
        """Get a token and the catalog. Raises RefusedError, OSError, HTTPException."""
        self._context = ssl.create_default_context(cafile=trust)
        self._identity = auth["auth_url"].rstrip("/")
        user = {"name": auth["username"], "domain": {"name": auth["user_domain_name"]}, "password": auth["password"]}
        project = {"name": auth["project_name"], "domain": {"name": auth["project_domain_name"]}}
        self._login = {
            "auth": {
                "identity": {"methods": ["password"], "password": {"user": user}},
                "scope": {"project": project},
            }
        }
        told, content = self._asked(self._identity, "POST", "/auth/tokens", self._login)
        self._token = {"X-Auth-Token": str(told["X-Subject-Token"])}
        self._urls = {
            service["type"]: endpoint["url"].rstrip("/")
            for service in json.loads(content)["token"]["catalog"]
            for endpoint in service["endpoints"]
            if endpoint["interface"] == "public" and endpoint["region_id"] == region
        }

    @classmethod
    def here(cls) -> Cloud:
        """Return the cloud of the environment: OS_CLOUD in OS_CLIENT_CONFIG_FILE."""
        content = yaml.safe_load(Path(os.environ["OS_CLIENT_CONFIG_FILE"]).read_text())
        chosen = content["clouds"][os.environ["OS_CLOUD"]]
        return cls(chosen["auth"], region=chosen["region_name"], trust=chosen.get("cacert"))

    def _asked(self, server: str, method: str, path: str, body: Any = None) -> tuple[http.client.HTTPMessage, bytes]:
        line = Line(server, context=self._context, kept=False)
        headers = {"Content-Type": "application/json"} | getattr(self, "_token", {})
        try:
            return line.ask(method, path, body=json.dumps(body).encode() if body else None, headers=headers)
        finally:
            line.close()

    def lanes(self) -> Iterator[tuple[str, Asked]]:
        """Yield what is asked of each API that the catalog has."""
        works: list[tuple[str, str, Callable[[Ask], None]]] = [
            ("token", self._identity, lambda ask: ask("POST", "/auth/tokens", body=self._login) and None),
            ("projects", self._identity, self._get("/projects")),
        ]
        for name, service, base, work in (
            ("image", "image", "/v2", self._image),
            ("network", "network", "/v2.0", self._network),
            ("volumes", "block-storage", "", self._get("/volumes/detail")),
            ("servers", "compute", "", self._get("/servers/detail")),
        ):
            if service in self._urls:
                works.append((name, self._urls[service].removesuffix(base) + base, work))
        if "dashboard" in self._urls:
            works.append(("login page", self._urls["dashboard"], lambda ask: ask("GET", "/auth/login/") and None))
        for name, server, work in works:
            for kind, lane in both(server, work, context=self._context):
                yield f"{name} {kind}", lane

    @property
    def context(self) -> ssl.SSLContext:
        """Return what its servers are verified by."""
        return self._context

    def reads(self) -> Iterator[tuple[str, str, str, str, bytes | None]]:
        """Yield what a client asks most: name, server, method, path and body of a token and of lists."""
        yield "token", self._identity, "POST", "/auth/tokens", json.dumps(self._login).encode()
        for name, service, base, path in (
            ("servers", "compute", "", "/servers/detail"),
            ("ports", "network", "/v2.0", "/ports"),
            ("images", "image", "/v2", "/images"),
            ("volumes", "block-storage", "", "/volumes/detail"),
        ):
            if service in self._urls:
                yield name, self._urls[service].removesuffix(base) + base, "GET", path, None

    @property
    def images(self) -> tuple[str, dict[str, str]]:
        """Return the URL of the image API, and the headers of a request."""
        return f"{self._urls['image'].removesuffix('/v2')}/v2", dict(self._token)

    def _get(self, path: str) -> Callable[[Ask], None]:
        def work(ask: Ask) -> None:
            ask("GET", path, headers=self._token)

        return work

    def _image(self, ask: Ask) -> None:
        body = {"name": f"{PREFIX}-{next(_NUMBERS)}", "disk_format": "raw", "container_format": "bare"}
        _, made = ask("POST", "/images", body=body, headers=self._token)
        octets = self._token | {"Content-Type": "application/octet-stream"}
        ask("PUT", f"/images/{made['id']}/file", body=bytes(4096), headers=octets)
        ask("DELETE", f"/images/{made['id']}", headers=self._token)

    def _network(self, ask: Ask) -> None:
        _, made = ask(
            "POST", "/networks", body={"network": {"name": f"{PREFIX}-{next(_NUMBERS)}"}}, headers=self._token
        )
        network = made["network"]["id"]
        _, port = ask("POST", "/ports", body={"port": {"network_id": network}}, headers=self._token)
        ask("DELETE", f"/ports/{port['port']['id']}", headers=self._token)
        ask("DELETE", f"/networks/{network}", headers=self._token)

    def swept(self) -> None:
        """Delete what failed rounds left. Raises RefusedError, OSError, HTTPException."""
        for service, base, kind in (("image", "/v2", "images"), ("network", "/v2.0", "networks")):
            if service not in self._urls:
                continue
            server = self._urls[service].removesuffix(base) + base
            _, content = self._asked(server, "GET", f"/{kind}?limit=1000")
            for one in json.loads(content)[kind]:
                if not one["name"].startswith(f"{PREFIX}-"):
                    continue
                if kind == "networks":
                    _, ports = self._asked(server, "GET", f"/ports?network_id={one['id']}")
                    for port in json.loads(ports)["ports"]:
                        self._asked(server, "DELETE", f"/ports/{port['id']}")
                self._asked(server, "DELETE", f"/{kind}/{one['id']}")


@contextmanager
def watching(kubeconfig: Path | None, *, server: str | None = None) -> Iterator[Watch | None]:
    """Watch the objects that the lanes make while the block runs."""
    if not kubeconfig:
        yield None
        return
    cluster = Cluster.of(kubeconfig, server=server)
    line = partial(Line, cluster.server, context=cluster.context, kept=False)
    with Watch(line, path=CONFIG_MAPS, selector=PREFIX, headers=cluster.headers).kept() as watch:
        yield watch


@contextmanager
def of(
    *, kubeconfig: Path | None, server: str | None, openstack: bool, every: float | None = None
) -> Iterator[dict[str, Asked]]:
    """Yield the lanes of what is to be asked; delete afterwards what they left. ``every``: of the cloud's lanes."""
    asked: list[Cluster | Cloud] = [Cluster.of(kubeconfig, server=server)] if kubeconfig else []
    lanes = dict(itertools.chain.from_iterable(one.lanes() for one in asked))
    if openstack:
        asked.append(cloud := Cloud.here())
        lanes |= {name: replace(lane, every=every) for name, lane in cloud.lanes()}
    try:
        yield lanes
    finally:
        for one in asked:
            settled(one.swept)


def settled(sweep: Callable[[], None], *, seconds: float = 300.0) -> None:
    """Sweep as soon as the API answers again; what it says at the end of this time is raised."""
    end = time.monotonic() + seconds
    while True:
        try:
            return sweep()
        except (RefusedError, OSError, http.client.HTTPException):
            if time.monotonic() > end:
                raise
            time.sleep(EVERY)


def main() -> int:
    """Ask until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kubernetes", type=Path, metavar="KUBECONFIG", help="ask the cluster of this kubeconfig")
    parser.add_argument("--server", help="URL of its API, instead of the kubeconfig's")
    parser.add_argument("--openstack", action="store_true", help="ask the cloud of OS_CLOUD and clouds.yaml")
    parser.add_argument("--every", type=float, default=EVERY, help="seconds between two rounds of a lane")
    parser.add_argument(
        "--every-cloud", dest="cloud", type=float, help="the same of lanes of the cloud: each takes a login's work"
    )
    given = parser.parse_args()
    with (
        of(kubeconfig=given.kubernetes, server=given.server, openstack=given.openstack, every=given.cloud) as lanes,
        served(lanes, every=given.every) as (prober, found),
        watching(given.kubernetes, server=given.server) as watch,  # it ends first: at an event that lanes still make
    ):
        print("ready", flush=True)
        for line in sys.stdin:
            prober.step(line.strip())
    figures: dict[str, Any] = {name: asdict(lane) for name, lane in found.items()}
    good = all(lane.good for lane in found.values()) and not (watch and watch.failed)
    print(json.dumps(figures | ({"watch": watch.told()} if watch else {})), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
