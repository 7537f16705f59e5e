"""A cloud's APIs in memory, as far as resources ask: lists, and what changes one, by the table of kinds."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import requests
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources.api import CloudApi
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources.holds import HOLDINGS
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources.kinds import KINDS, ResourceKind
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources.ledger import Ledger

ADMIN, USER = "admin-project", "admin-user"
_OWN = {"/ports", *(kind.path for kind in KINDS.values())}  # answered with what was made
_LISTS = {(row.service, row.path.partition("?")[0]): row for row in HOLDINGS["project"]}
_NEW: dict[str, dict[str, Any]] = {  # what an API shows of a new one beside what it was given
    "flavor": {"extra_specs": {}},
    "volume_type": {"extra_specs": {}, "qos_specs_id": None},
    "image": {"status": "queued"},
    "network": {"mtu": 1442, "shared": False, "qos_policy_id": None, "router:external": False},
    "subnet": {
        "gateway_ip": "10.0.0.1",
        "dns_nameservers": [],
        "allocation_pools": [{"start": "10.0.1.2", "end": "10.0.1.9"}],
    },
    "router": {"external_gateway_info": None},
    "qos_policy": {"rules": []},
    "subnet_pool": {"address_scope_id": None},
}


class Killed(BaseException):
    """The process ends here."""


@dataclass
class Apis:
    """A connection of openstacksdk, and what is behind it."""

    current_project_id: str = ADMIN
    current_user_id: str = USER
    held: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)  # service, path -> objects
    catalog: tuple[str, ...] = ()  # types
    extensions: tuple[str, ...] = ("address-group", "address-scope", "logging", "qos", "trunk")
    members: list[str] = field(default_factory=list)  # projects where the administrator is a member
    objects: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {name: [] for name in KINDS})
    asked: list[str] = field(default_factory=list)  # changes only: "POST /networks"
    quotas: dict[str, dict[str, Any]] = field(default_factory=dict)
    ports: list[dict[str, Any]] = field(default_factory=list)
    uploads: list[bytes] = field(default_factory=list)  # of images
    dies_after: int = -1  # changes
    refused: str = ""  # what has this text is not made: no quota is left
    ids: Any = field(default_factory=itertools.count)
    ledger: Ledger = field(default_factory=Ledger)

    def __post_init__(self) -> None:
        self.objects["domain"].append({"id": "default", "name": "Default", "description": ""})
        project = {"id": ADMIN, "name": "admin", "domain_id": "default", "description": ""}
        self.objects["project"].append(project)
        provider = {"id": "ext", "name": "provider", "project_id": ADMIN, "description": "", "router:external": True}
        self.objects["network"].append({**_NEW["network"], **provider})
        self.objects["role"].append({"id": "member-role", "name": "member"})

    @property
    def session(self) -> Any:
        """The session, as far as it tells the catalog."""
        found = SimpleNamespace(catalog=[{"type": name} for name in self.catalog])
        return SimpleNamespace(auth=SimpleNamespace(get_access=lambda _: SimpleNamespace(service_catalog=found)))

    def within(self, project: str) -> Apis:
        """Return the connection of a member: Keystone gives others no token."""
        assert project in self.members
        return self

    def __getattr__(self, service: str) -> Any:
        if service.startswith("__"):
            raise AttributeError(service)
        return _Service(self, service)

    def api(self, go_on: Callable[[], None] = lambda: None) -> CloudApi:
        """Return what the engine asks, with what former runs kept."""
        return CloudApi(self, go_on, self.ledger)

    def named(self, kind: str, name: str) -> dict[str, Any]:
        return next(one for one in self.objects[kind] if one["name"] == name)

    def answer(self, service: str, method: str, url: str, body: Any) -> tuple[int, Any]:
        parts = urlsplit(url)
        path, query = parts.path, dict(parse_qsl(parts.query))
        if method != "GET":
            if len(self.asked) == self.dies_after:
                raise Killed
            self.asked.append(f"{method} {path}")
        if (listed := self._listed(service, path) if method == "GET" else None) is not None:
            return 200, listed
        if f"/users/{USER}/roles" in path:
            return 200, {"roles": self._roles(path.split("/")[2], method)}
        for name, kind in KINDS.items():
            if kind.service == service and path in (kind.path, kind.listed):
                return self._whole(name, kind, method, query, body)
        for name, kind in KINDS.items():
            for one in self.objects[name] if kind.service == service else ():
                if path == f"{kind.path}/{one['id']}":
                    return self._one(name, kind, one, method, body)
        if method == "POST" and path.startswith(("/images/", "/os-aggregates/")):
            return self._act(path, body)
        return self._more(path, method, query, body)

    def _listed(self, service: str, path: str) -> Any:
        """Return what is held; None where it is another request."""
        if path == "/extensions":
            return {"extensions": [{"alias": alias} for alias in self.extensions]}
        if path.endswith("/recordsets"):
            return {"recordsets": self.held.get((service, path), [])}
        row = _LISTS.get((service, path))
        if row is None or (path in _OWN and (service, path) not in self.held):
            return None
        found = self.held.get((service, path), [])
        return found if row.path == "/?format=json" else {row.plural: found}

    def _roles(self, project: str, method: str) -> list[dict[str, str]]:
        if method != "GET":
            self.members = [one for one in self.members if one != project] + [project] * (method == "PUT")
        return [{"id": "member-role"}] if project in self.members else []

    def _whole(self, name: str, kind: ResourceKind, method: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        if method == "GET":
            filters = {
                key: value
                for key, value in query.items()
                if key in ("domain_id", "name", "owner", "parent_id", "project_id")
            }
            found = [one for one in self.objects[name]
                     if all(str(one.get(key)) == value for key, value in filters.items())]  # fmt: skip
            if name == "image":
                found = [one for one in found if bool(one.get("os_hidden")) == ("os_hidden" in query)]
            if name == "image" and query.get("visibility") != "all":  # Glance tells an administrator no others
                found = [one for one in found if one.get("visibility") != "community" or one["owner"] == ADMIN]
            return 200, {kind.plural: found}
        given = body[kind.key] if kind.key else body
        if self.refused and self.refused in json.dumps(given):
            return 409, {"NeutronError": {"message": "Quota exceeded"}}
        number = next(self.ids)
        made = {"id": f"{name}-{number}", "created_at": f"2026-11-30T00:00:{number:02}Z", **_NEW.get(name, {}), **given}
        made.pop("password", None)
        if name == "volume_qos":
            made["specs"] = {
                key: made.pop(key) for key in [*made] if key not in ("id", "name", "consumer", "created_at")
            }
        if name == "aggregate":
            zone = made["availability_zone"]
            made |= {"hosts": [], "metadata": {"availability_zone": zone} if zone else {}}
        if name == "security_group":
            made["security_group_rules"] = [{"id": "r", "direction": "egress", "ethertype": "IPv4"}]
        self.objects[name].append(made)
        return 201, {kind.key: made} if kind.key else made

    def _one(self, name: str, kind: ResourceKind, one: dict[str, Any], method: str, body: Any) -> tuple[int, Any]:
        if method == "DELETE":
            self.objects[name].remove(one)
            return 204, None
        if kind.service == "image":
            one |= {change["path"][1:]: change["value"] for change in body}
        else:
            one |= body[kind.key] if kind.key else body
        return 200, {kind.key: one}

    def _act(self, path: str, body: Any) -> tuple[int, Any]:
        """Answer the actions of images and aggregates."""
        kind = "image" if path.startswith("/images/") else "aggregate"
        found = next(one for one in self.objects[kind] if str(one["id"]) == path.split("/")[2])
        if kind == "image":
            found["status"] = "deactivated" if path.endswith("/deactivate") else "active"
        for verb, given in (body or {}).items():
            if verb == "set_metadata":
                kept = {**found["metadata"], **given["metadata"]}
                found["metadata"] = {key: value for key, value in kept.items() if value is not None}
            else:
                found["hosts"].append(given["host"])
        return 200, {}

    def _more(self, path: str, method: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        if "quota" in path:
            identity = path.split("/")[2]
            limits = self.quotas.setdefault(identity, {"cores": {"limit": 20, "in_use": 7, "used": 7, "reserved": 0}})
            if method == "PUT":
                for key, limit in next(iter(body.values())).items():
                    limits[key]["limit"] = limit
            return 200, {"quota_set": limits, "quota": limits}
        if path == "/ports":
            filters = {key: value for key, value in query.items() if key in ("device_id", "network_id")}
            return 200, {
                "ports": [one for one in self.ports if all(one.get(key) == value for key, value in filters.items())]
            }
        if path.endswith("_router_interface"):
            router, subnet = path.split("/")[2], body["subnet_id"]
            port = {
                "device_id": router,
                "device_owner": "network:router_interface",
                "fixed_ips": [{"subnet_id": subnet}],
            }
            self.ports = [one for one in self.ports if one != port] + ([port] if "/add_" in path else [])
            return 200, {}
        if path.startswith("/security-group-rules"):
            if method == "POST":
                rule = body["security_group_rule"]
                group = next(one for one in self.objects["security_group"] if one["id"] == rule["security_group_id"])
                group["security_group_rules"].append({**rule, "id": f"rule-{next(self.ids)}"})
            for group in self.objects["security_group"] if method == "DELETE" else ():
                group["security_group_rules"] = [
                    one for one in group["security_group_rules"] if not path.endswith(f"/{one['id']}")
                ]
            return 201, {}
        if path.endswith("/os-extra_specs"):
            flavor = next(one for one in self.objects["flavor"] if one["id"] == path.split("/")[2])
            flavor["extra_specs"] |= body["extra_specs"]
            return 200, {}
        return 200, {query.get("plural") or path.rpartition("/")[2]: []}


@dataclass
class _Service:
    apis: Apis
    name: str

    def request(
        self, url: str, method: str, *, json: Any = None, data: Any = None, headers: Any = None, **_more: Any
    ) -> requests.Response:
        if data:
            self.apis.answer(self.name, method, url, None)
            self.apis.uploads.append(data.read())
            next(one for one in self.apis.objects["image"] if one["id"] in url)["status"] = "active"
        status, body = self.apis.answer(self.name, method, url, json)
        if (project := (headers or {}).get("X-Auth-Sudo-Project-ID")) and method == "POST":
            self.apis.objects["dns_zone"][-1]["project_id"] = project
        answer = requests.Response()
        answer.status_code = status
        answer._content = b"" if body is None else _json(body)
        answer.headers["content-type"] = "application/json"
        return answer


def _json(body: Any) -> bytes:
    return json.dumps(body).encode()
