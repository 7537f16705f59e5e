"""As much of Keystone's API as `cloud.identity` asks, in memory."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl

from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.keystone import Keystone
from ansible_collections.groundup.cloud.plugins.plugin_utils.https import Answer
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import (
    IdentityPlan,
    IdentityProviderPlan,
    LdapPlan,
    LoginPlan,
    RolePlan,
)

SINGULAR = {"domains": "domain", "groups": "group", "projects": "project", "roles": "role"}
FEDERATION = {"identity_providers": "identity_provider", "mappings": "mapping", "protocols": "protocol"}


@dataclass
class Server:
    """Keystone with the domains Default and corp, which is a directory's, its group staff, and two roles."""

    objects: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)  # collection's path -> id -> object
    configured: set[str] = field(default_factory=lambda: {"c"})  # domains with a directory's settings
    given: set[str] = field(default_factory=set)  # paths of assignments
    hidden: set[str] = field(default_factory=set)  # groups that the directory does not show
    down: set[str] = field(default_factory=set)  # domains whose directory does not answer
    written: list[str] = field(default_factory=list)
    page: int = 2
    numbers: Any = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        for name, at in (("Default", "default"), ("corp", "c")):
            self.add("domains", at, name=name, enabled=True)
        self.add("groups", "g", name="staff", domain_id="c")
        for name in ("member", "reader"):
            self.add("roles", name[0], name=name)
        self.add("projects", "d", name="demo", domain_id="default")

    def add(self, kind: str, at: str = "", **values: Any) -> dict[str, Any]:
        made = {"id": at or f"{kind[:2]}{next(self.numbers)}", **values}
        return self.objects.setdefault(f"/{kind}", {}).setdefault(made["id"], made)

    def named(self, kind: str, name: str) -> dict[str, Any]:
        return next(one for one in self.objects[f"/{kind}"].values() if one["name"] == name)

    @property
    def keystone(self) -> Keystone:
        return Keystone(self.send)

    def send(self, method: str, path: str, body: Any) -> Answer:
        if method != "GET":
            self.written.append(f"{method} {path}")
        path, _, query = path.partition("?")
        status, said = self._answer(method, path, dict(parse_qsl(query)), json.loads(json.dumps(body)))
        return Answer(status=status, headers={}, body=json.loads(json.dumps(said)))

    def _answer(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any]:  # noqa: PLR0911  # one an answer
        home, _, last = path.rpartition("/")
        if path == "/users":
            return (
                (500, {"error": {"message": "An unexpected error"}}) if query["domain_id"] in self.down else (200, {})
            )
        if path == "/role_assignments":
            return 200, {"role_assignments": [one for one in map(assignment, self.given) if fits(one, query)]}
        if last == "config":
            return (200, {"config": {}}) if home.rpartition("/")[2] in self.configured else (404, None)
        if "/groups/" in path:
            return self._grant(method, path)
        if last in {**SINGULAR, **FEDERATION} and method == "GET":
            return self._listed(path, query)
        if method == "POST":
            return 201, {SINGULAR[last]: self.add(last, **body[SINGULAR[last]])}
        return self._one(method, home, last, body)

    def _grant(self, method: str, path: str) -> tuple[int, Any]:
        group = self.objects["/groups"].get(path.split("/")[4], {"domain_id": ""})
        if group["domain_id"] in self.down:
            return 500, {"error": {"message": "An unexpected error"}}
        if method == "PUT":
            self.given.add(path)
        there = path in self.given
        self.given -= {path} if method == "DELETE" else set()
        return 204 if there else 404, None

    def _listed(self, home: str, query: dict[str, str]) -> tuple[int, Any]:
        start = int(query.pop("marker", 0))
        if query.get("domain_id") in self.down:
            return 500, {"error": {"message": "An unexpected error"}}
        every = [
            one for one in self.objects.get(home, {}).values()
            if one["id"] not in self.hidden and all(folded(one.get(key)) == folded(query[key]) for key in query)
        ]  # fmt: skip
        following = "&".join([f"marker={start + self.page}", *(f"{key}={value}" for key, value in query.items())])
        link = f"https://identity.test/v3{home}?{following}" if start + self.page < len(every) else None
        return 200, {home.rpartition("/")[2]: every[start : start + self.page], "links": {"next": link}}

    def _one(self, method: str, home: str, last: str, body: Any) -> tuple[int, Any]:
        there = self.objects.setdefault(home, {})
        kind = {**SINGULAR, **FEDERATION}[home.rpartition("/")[2]]
        if method == "PUT":
            there[last] = {"id": last, **body[kind]}
        if last not in there:
            return 404, None
        if method == "PATCH":
            there[last].update(body[kind])
        return 200, {kind: there.pop(last) if method == "DELETE" else there[last]}


def folded(value: Any) -> str:
    """Return a name as MariaDB compares it."""
    return str(value).casefold().rstrip().replace("é", "e")


def assignment(path: str) -> dict[str, Any]:
    """Return how Keystone lists an assignment."""
    kind, place, _, group, _, role = path.strip("/").split("/")
    return {"role": {"id": role}, "group": {"id": group}, "scope": {kind.removesuffix("s"): {"id": place}}}


def fits(one: dict[str, Any], query: dict[str, str]) -> bool:
    """Return whether an assignment is among those asked for."""
    flat = {"role.id": one["role"]["id"], "group.id": one["group"]["id"]}
    flat |= {f"scope.{kind}.id": place["id"] for kind, place in one["scope"].items()}
    return all(flat.get(key) == value for key, value in query.items())


def plan(*providers: IdentityProviderPlan, **domains: tuple[RolePlan, ...]) -> Any:
    """Return as much of a plan as is read."""
    written = {
        name: LdapPlan(options={}, secret=f"keystone/ldap-{name}", ca=None, roles=roles)
        for name, roles in domains.items()
    }
    identity = IdentityPlan(logins=LoginPlan(token_life=3600, compliance={}), domains=written, providers=providers)
    return SimpleNamespace(site="lab", identity=identity, resources=(), openstack=SimpleNamespace(charts="builtin"))
