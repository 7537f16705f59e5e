"""A small identity API behind TLS with a CA of its own, and what a site around it is read from."""

from __future__ import annotations

import base64
import gzip
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import EndpointPlan
from ansible_collections.groundup.cloud.tests.unit.tls import Pair, pair

NAME = "identity.test"
PASSWORD = "right"


def authority(directory: Path, *names: str) -> Pair:
    """Write a CA's certificate, return one for ``names`` that it signed."""
    ca = pair(names=("CA",))
    (directory / "ca.crt").write_text(ca.certificate)
    return pair(names=names, signed_by=ca)


class Keystone:
    """A small identity API. ``urls``: the public endpoints of its catalog."""

    def __init__(self, directory: Path) -> None:
        self.urls: list[str] = []
        self.services: list[str] = []  # further services, each by the first word of its public name
        self.deletes = 204  # what it answers to a deletion
        self.later: list[str] = []  # added once a token was issued
        self.status = 201
        self.issued = "11:00"  # a token ends at 12:00
        self.rules = ".{12,}"
        self.seen_hosts: list[str] = []
        keystone = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                """Issue a token for the right password."""
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                keystone.seen_hosts.append(self.headers["Host"])
                password = body["auth"]["identity"]["password"]["user"]["password"]
                if password != PASSWORD:
                    self.answer(401, {})
                    return
                public = {"interface": "public", "region": "RegionOne"}
                endpoints = [{**public, "url": url} for url in keystone.urls]
                token = {
                    "project": body["auth"]["scope"]["project"], "expires_at": "2026-11-21T12:00:00Z",
                    "issued_at": f"2026-11-21T{keystone.issued}:00Z",
                    "catalog": [{"type": "identity", "name": "keystone", "endpoints": endpoints}],
                }  # fmt: skip
                self.answer(keystone.status, {"token": token}, {"X-Subject-Token": "t"})
                keystone.urls, keystone.later = keystone.urls + keystone.later, []

            def do_GET(self) -> None:
                """List endpoints; everything else is version discovery."""
                if self.path.endswith("/endpoints"):
                    urls = [("1", url) for url in keystone.urls]
                    urls += [(name, f"https://{name}.test/v1") for name in keystone.services]
                    found = [{"interface": "public", "service_id": one, "url": url} for one, url in urls]
                    self.answer(200, {"endpoints": found})
                elif self.path.endswith("/security_compliance"):
                    self.answer(200, {"config": {"security_compliance": {"password_regex": keystone.rules}}})
                else:
                    self.answer(300, {})

            def do_DELETE(self) -> None:
                """Delete a service."""
                if keystone.deletes == 204:
                    keystone.services.remove(self.path.rpartition("/")[2])
                self.answer(keystone.deletes, {})

            def answer(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
                """Send JSON."""
                content = json.dumps(body).encode()
                self.send_response(status)
                for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        authority(directory, NAME, "image.test").shown_by(self.server, directory)
        self.port = self.server.server_port
        self.base = f"https://{NAME}:{self.port}/v3"
        self.urls = [self.base]


def service(name: str, port: int) -> dict[str, Any]:
    """Return a Service with a node port."""
    return {"metadata": {"name": name, "namespace": "openstack"}, "spec": {"ports": [{"nodePort": port}]}}


class Services:
    """An API that lists Services, and Helm's record of a release without workloads for each."""

    def __init__(self, items: list[dict[str, Any]]) -> None:
        self.items = items

    def get(self, path: str, **_: str) -> dict[str, Any]:
        """Return the Services, or the records."""
        if path == "/api/v1/services":
            return {"items": self.items}
        assert path == "/api/v1/namespaces/openstack/secrets"
        return {"items": [record(name) for name in ("keystone", "glance")]}


def record(name: str, *, status: str = "deployed", manifest: str = "") -> dict[str, Any]:
    """Return Helm's record of a release."""
    content = json.dumps({"manifest": manifest, "info": {"status": status}}).encode()
    data = base64.b64encode(base64.b64encode(gzip.compress(content))).decode()
    labels = {"name": name, "version": "1", "status": status}
    return {"metadata": {"name": name, "namespace": "openstack", "labels": labels}, "data": {"release": data}}


def endpoint(service: str, name: str, url: str, node_port: int) -> EndpointPlan:
    return EndpointPlan(service=service, type=service, name=name, url=url, node_port=node_port, health_path="/v3/")


def image_at(keystone: Keystone) -> EndpointPlan:
    """Return the route of a second service, which answers where Keystone does."""
    return endpoint("glance", "image.test", f"https://image.test:{keystone.port}", 30092)
