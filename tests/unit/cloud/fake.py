"""A cloud in memory, over HTTPS: enough of its APIs for openstacksdk itself to talk to."""

from __future__ import annotations

import http.server
import itertools
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from ansible_collections.groundup.cloud.tests.unit.tls import Pair

from .fake_hosts import FakeHosts

ADMIN = "admin-project"
TENANTS = ("projects", "users", "keypairs", "security_groups", "networks", "subnets", "routers", "ports", "images",
           "flavors", "servers", "floatingips", "volumes", "secrets")  # fmt: skip
Entry = dict[str, Any]
_PATHS = {"identity": "/v3", "network": "/v2.0", "compute": "/v2.1", "image": "/v2", "placement": "", "volumev3": "/v3",
          "key-manager": "/v1"}  # fmt: skip
_VERSIONED = ("identity", "compute", "volumev3")  # whose URL in the catalog says it
_STATUS = {"servers": "ACTIVE", "floatingips": "DOWN"}


@dataclass
class FakeCloud:
    """What there is, and what was asked."""

    domain: str = "cloud.test"
    port: int = 0
    kinds: dict[str, list[Entry]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)  # "POST networks"
    refuses: dict[str, tuple[int, str]] = field(default_factory=dict)  # request -> status, message
    recorded: dict[str, dict[str, Any]] = field(default_factory=dict)  # "compute os-x/detail" -> marker -> answer
    queries: list[tuple[str, Entry]] = field(default_factory=list)  # of those
    version: str = ""  # microversion of the last request
    numbers: Any = field(default_factory=itertools.count)
    binding: str = "ovs"
    status: str = "ACTIVE"  # of new servers
    fault: str = ""
    console: str = "guest: sshd is up"
    proxy: int = 200  # what the console's proxy answers
    hosts: FakeHosts = field(init=False)

    def __post_init__(self) -> None:
        self.hosts = FakeHosts(self)
        self.add("projects", {"id": ADMIN, "name": "admin", "domain_id": "default"}, ADMIN)
        for name in ("admin", "member"):
            self.add("roles", {"name": name}, ADMIN)

    def names(self) -> dict[str, str]:
        return {f"{kind}.{self.domain}": "127.0.0.1" for kind in (*_PATHS, "console")}

    def url(self, kind: str) -> str:
        return f"https://{kind}.{self.domain}:{self.port}{_PATHS[kind] if kind in _VERSIONED else ''}"

    def of(self, kind: str) -> list[Entry]:
        return self.kinds.setdefault(kind, [])

    def one(self, kind: str, identity: str) -> Entry | None:
        return next((each for each in self.of(kind) if identity in (each["id"], each.get("name"))), None)

    def add(self, kind: str, entry: Entry, project: str) -> Entry:
        number = next(self.numbers)
        made = {"id": f"{kind}-{number}", "project_id": project, "tenant_id": project, "description": "", **entry}
        if kind in _STATUS:
            made["status"] = _STATUS[kind]
        if kind == "images":
            made |= {"owner": project, "status": "queued"}
        if kind == "floatingips":
            made["floating_ip_address"] = "203.0.113.7"
        if kind == "networks":
            made = {"mtu": 1442, "router:external": False, **made}
        if kind == "subnetpools":
            made = {"ip_version": 4, "is_default": False, **made}
        if kind == "servers":
            host = str(entry.get("availability_zone", "")).removeprefix(":")
            status, fault = self.hosts.boot(host) if self.hosts.service(host) else (self.status, self.fault)
            made |= {"status": status, "fault": {"message": fault}, "OS-EXT-SRV-ATTR:host": host or "hypervisor-2"}
            port = {"device_id": made["id"], "device_owner": "compute:nova", "binding:vif_type": self.binding}
            self.add("ports", port, project)
        if kind == "secrets":
            made["secret_ref"] = f"{self.url('key-manager')}/v1/secrets/{made['id']}"
        if kind == "keypairs":
            made["id"] = made["name"]
        if kind == "volumes":
            made["os-vol-tenant-attr:tenant_id"] = project
        if kind == "routers":
            self.add("ports", {"device_id": made["id"], "device_owner": "network:router_gateway"}, "")
        self.of(kind).append(made)
        return made

    def part(self, kind: str, identity: str, parts: list[str], body: Entry) -> tuple[int, Any] | None:
        """Answer for what is below an entry; None: as a cloud does that has one hypervisor."""

    def delete(self, kind: str, identity: str) -> int:
        found = self.one(kind, identity)
        if found is None:
            return 404
        owned = [one for one in self.of("ports") if one.get("device_id") == found["id"]]
        if kind == "routers" and any("interface" in one["device_owner"] for one in owned):
            return 409
        if kind in ("servers", "routers"):
            self.kinds["ports"] = [one for one in self.of("ports") if one not in owned]
        if kind == "networks" and self.of("ports"):
            return 409
        if kind == "networks":
            self.kinds["subnets"] = [one for one in self.of("subnets") if one["network_id"] != found["id"]]
        self.of(kind).remove(found)
        return 204


def left(fake: FakeCloud) -> list[str]:
    """Return what is in the cloud beside its own project and network."""
    mine = [(kind, one) for kind in TENANTS for one in fake.of(kind)]
    return [f"{kind} {one['id']}" for kind, one in mine if one.get("name") not in ("admin", "provider")]


def server(cloud: FakeCloud, pair: Pair, directory: Path) -> http.server.ThreadingHTTPServer:
    """Return a server of ``cloud``, not serving yet."""

    class Handler(_Handler):
        fake = cloud

    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    cloud.port = made.server_port
    pair.shown_by(made, directory)
    return made


class _Handler(http.server.BaseHTTPRequestHandler):
    fake: FakeCloud
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes: the second waited 40 ms for an acknowledgement

    def log_message(self, *_: Any) -> None:
        pass

    def _answer(self, status: int, body: Any = None, **headers: str) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for key, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(key.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _any(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            data = b""
            while size := int(self.rfile.readline(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(size)
        text = self.headers.get("Content-Type", "").startswith("application/json")
        body = json.loads(data) if data and text else {}
        service = self.headers["Host"].partition(".")[0]
        if service == "console":
            self._answer(self.fake.proxy, "noVNC" if "token" in self.path else None)
            return
        parts = urlsplit(self.path)
        path = parts.path.removeprefix(_PATHS[service]).strip("/")
        query = dict(parse_qsl(parts.query))
        if not path:
            self._answer(200, self._version(service, whole=parts.path.strip("/") == ""))
            return
        what = f"{self.command} {path.split('/')[0].removeprefix('os-')}"
        self.fake.asked.append(f"{self.command} {path}")
        self.fake.version = (self.headers.get("OpenStack-API-Version") or "").removeprefix(f"{service} ")
        if what in self.fake.refuses:
            status, message = self.fake.refuses[what]
            self._answer(status, {"error": {"message": message, "code": status}})
        elif f"{service} {path}" in self.fake.recorded:
            self.fake.queries.append((path, query))
            answer = self.fake.recorded[f"{service} {path}"].get(query.get("marker", ""))
            self._answer(404 if answer is None else 200, answer)
        else:
            self._dispatch(service, path.split("/"), query, body)

    do_GET = _any  # noqa: N815 - http.server's names
    do_POST = _any  # noqa: N815
    do_PUT = _any  # noqa: N815
    do_DELETE = _any  # noqa: N815

    def _version(self, service: str, *, whole: bool) -> Any:
        number = _PATHS[service].removeprefix("/")
        href = f"https://{self.headers['Host']}{_PATHS[service]}/"
        one = {"id": number, "status": "CURRENT", "links": [{"rel": "self", "href": href}]}
        if service == "compute":
            one |= {"version": "2.96", "min_version": "2.1"}
        if service == "volumev3":
            one |= {"id": "v3.0", "version": "3.71", "min_version": "3.0"}
        if service == "identity":
            one |= {"status": "stable", "id": "v3.14"}
        if service == "image":
            one["id"] = "v2.17"
        if service == "placement":
            one |= {"id": "v1.0", "min_version": "1.0", "max_version": "1.39"}
        return {"versions": [one]} if whole else {"version": one}

    def _project(self) -> str:
        return (self.headers.get("X-Auth-Token") or "").removeprefix("token-")

    def _dispatch(self, service: str, path: list[str], query: dict[str, str], body: Entry) -> None:
        kind = path[0].removeprefix("os-").replace("-", "_")
        if service == "placement" and (said := self.fake.hosts.placement(self.command, path, query, body)):
            self._answer(*said)
            return
        if service == "compute" and (said := self.fake.hosts.compute(self.command, path, body)):
            self._answer(*said)
            return
        if path == ["auth", "tokens"]:
            self._token(body)
        elif len(path) == 1 or path[1] == "detail":
            self._collection(service, kind, query, body)
        elif len(path) == 2:
            self._entry(service, kind, path[1], body)
        else:
            self._answer(*(self.fake.part(kind, path[1], path[2:], body) or self._part(kind, path[1], path[2], body)))

    def _collection(self, service: str, kind: str, query: dict[str, str], body: Entry) -> None:
        single = kind.removesuffix("s")
        if self.command == "POST":
            made = self.fake.add(kind, body.get(single, body), self._project())
            self._answer(201, made if service in ("image", "key-manager") else {single: made})
        else:
            found = [one for one in self.fake.of(kind) if self._fits(one, query)]
            self._answer(200, {kind: [{single: one} for one in found] if kind == "keypairs" else found})

    def _entry(self, service: str, kind: str, identity: str, body: Entry) -> None:
        single, one = kind.removesuffix("s"), self.fake.one(kind, identity)
        if kind == "auto_allocated_topology":
            missing = [
                name for name in ("networks", "subnetpools") if not any(x["is_default"] for x in self.fake.of(name))
            ]
            fault = {"type": "AutoAllocationFailure", "message": f"No default {', '.join(missing)}", "detail": ""}
            self._answer(*((409, {"NeutronError": fault}) if missing else (200, {single: {"id": "dry-run=pass"}})))
            return
        if self.command == "DELETE":
            self._answer(self.fake.delete(kind, identity))
        elif one is None:
            self._answer(404, {"error": {"message": f"no {single} {identity}"}})
        else:
            one |= body.get(single, body)
            self._answer(200, one if service == "image" else {single: one})

    def _part(self, kind: str, identity: str, part: str, body: Entry) -> tuple[int, Any]:
        if part == "file":
            (one,) = (each for each in self.fake.of(kind) if each["id"] == identity)
            one["status"] = "active"
        if part == "acl":
            self.fake.of(kind)[-1]["acl"] = body
        if part == "action":
            return 200, {"output": self.fake.console} if "os-getConsoleOutput" in body else {}
        if part == "remote-consoles":
            url = f"https://console.{self.fake.domain}:{self.fake.port}/vnc_lite.html?path=%3Ftoken%3Dt0ken"
            return 200, {"remote_console": {**body["remote_console"], "url": url}}
        if part == "add_router_interface":
            port = {"device_id": identity, "device_owner": "network:router_interface"}
            return 200, self.fake.add("ports", port, self._project())
        if part == "remove_router_interface":
            return (200 if self.fake.delete("ports", body["port_id"]) == 204 else 404), {}
        return 204, None

    def _fits(self, one: Entry, query: dict[str, str]) -> bool:
        return all(str(one[key]).lower() == value.lower() for key, value in query.items() if key in one)

    def _token(self, body: Entry) -> None:
        scope = body["auth"].get("scope", {}).get("project", {})
        project = scope.get("id") or ADMIN
        catalog = [
            {"type": kind, "name": kind, "id": kind,
             "endpoints": [{"interface": "public", "region": "RegionOne", "region_id": "RegionOne", "id": kind,
                            "url": self.fake.url(kind)}]}
            for kind in _PATHS
        ]  # fmt: skip
        token = {
            "methods": ["password"], "expires_at": "2099-01-01T00:00:00.000000Z", "catalog": catalog,
            "issued_at": "2026-01-01T00:00:00.000000Z", "roles": [],
            "user": {"id": "u", "name": "u", "domain": {"id": "default", "name": "Default"}},
            "project": {"id": project, "name": "p", "domain": {"id": "default", "name": "Default"}},
        }  # fmt: skip
        self._answer(201, {"token": token}, X_Subject_Token=f"token-{project}")
