"""Requests to a cloud's APIs in their own JSON, by openstacksdk: every kind of resource is asked alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from openstack.exceptions import HttpException, raise_from_response

from .ledger import Ledger

if TYPE_CHECKING:
    from .kinds import ResourceKind

_NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class CloudApi:
    cloud: Any  # openstacksdk's connection
    go_on: Callable[[], None] = lambda: None  # called before each change; raises when there must be none
    ledger: Ledger = field(default_factory=Ledger)

    def call(
        self, service: str, method: str, path: str, body: Any = None, *, absent: bool = False, **more: Any
    ) -> Any:  # fmt: skip
        """Return the answer's JSON; None for an empty one, and for 404 if ``absent`` is an answer."""
        if method != "GET":
            self.go_on()
        given = {"json": body} if body is not None else {}
        answer = getattr(self.cloud, service).request(path, method, raise_exc=False, **given, **more)
        if absent and answer.status_code == _NOT_FOUND:
            return None
        raise_from_response(answer, error_message=f"{method} {path.partition('?')[0]}")
        return answer.json() if answer.content else None

    def services(self) -> set[str]:
        """Return the services of the catalog, as openstacksdk calls them."""
        session = self.cloud.session
        catalog = session.auth.get_access(session).service_catalog.catalog
        return {str(one["type"]).replace("-", "_") for one in catalog}

    def all(
        self, service: str, path: str, plural: str, *, version: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Return all objects of a list, page by page."""
        found: list[dict[str, Any]] = []
        base, at = path.partition("?")[0], path
        while at:
            answer = self.call(service, "GET", at, microversion=version, headers=dict(headers or {}))
            if isinstance(answer, list):  # Swift's
                return answer
            found += answer[plural]
            links = answer.get(f"{plural}_links") or ()
            following = next((one["href"] for one in links if one["rel"] == "next"), None)
            following = following or answer.get("next") or (answer.get("links") or {}).get("next")
            query = urlsplit(following).query if isinstance(following, str) else ""
            at = f"{base}?{query}" if query else ""
        return found

    def list(self, kind: ResourceKind, query: str = "") -> list[dict[str, Any]]:
        """Return all objects of a kind."""
        query = "&".join(filter(None, (kind.query, query)))
        path = f"{kind.listed or kind.path}{'?' if query else ''}{query}"
        return self.all(kind.service, path, kind.plural, version=kind.version, headers=kind.headers)

    def create(self, kind: ResourceKind, body: Mapping[str, Any], *, project: str) -> dict[str, Any]:
        """Make an object, and return it."""
        headers = {"X-Auth-Sudo-Project-ID": project} if kind.headers else {}
        answer = self.call(
            kind.service, "POST", kind.path, {kind.key: dict(body)} if kind.key else dict(body),
            microversion=kind.version, headers=headers,
        )  # fmt: skip
        return dict(answer[kind.key] if kind.key else answer)

    def update(self, kind: ResourceKind, found: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
        """Change fields of an object."""
        body: Any = {kind.key: dict(fields)} if kind.key else dict(fields)
        headers = dict(kind.headers)
        if kind.service == "image":  # RFC 6902
            body = [{"op": "replace" if key in found else "add", "path": f"/{key}", "value": value}
                    for key, value in fields.items()]  # fmt: skip
            headers = {"Content-Type": "application/openstack-images-v2.1-json-patch"}
        self.call(
            kind.service, kind.method, f"{kind.path}/{found['id']}", body, microversion=kind.version, headers=headers
        )  # fmt: skip

    def delete(self, kind: ResourceKind, found: Mapping[str, Any]) -> None:
        """Delete an object; one that is gone is no error."""
        path = f"{kind.path}/{found['id']}"
        self.call(
            kind.service, "DELETE", path, absent=True, microversion=kind.version, headers=dict(kind.headers)
        )  # fmt: skip


__all__ = ["CloudApi", "HttpException"]
