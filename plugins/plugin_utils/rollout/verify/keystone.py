"""Keystone: is a scoped token issued through the public URL, and does the catalog tell the truth (D6)?

Everything is asked from outside the cluster, by public names, over TLS that the site's CA vouches for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...plan.types import EndpointPlan
from ..gate.consistency import at
from ..types import Check, Verification
from .catalog import judge_routes, judge_urls, node_ports, public_endpoints
from .context import Context
from .https import SiteHttps, UnreachedError, public_names

_OBJECT = "Deployment/keystone-api"


def verify(context: Context) -> Verification:
    """Return whether a token is issued and, with it, whether endpoints, routes and services are the same."""
    identity = next((item for item in context.plan.edge.endpoints if item.service == "keystone"), None)
    if identity is None:
        return _failed("the plan has no public endpoint for keystone", layer="chart")
    https = SiteHttps(names=public_names(context.plan), authority=context.authority)
    base = identity.url.rstrip("/")
    try:
        answer = https.request("POST", f"{base}/auth/tokens", body=scoped_request(context.values))
    except UnreachedError as error:
        return _failed(f"{error.what} ({error.where})", layer="network")
    if answer.status == 401:
        return _failed(f"{base} refuses the administrator's password", layer="credentials")
    headers = {name.lower(): value for name, value in answer.headers.items()}
    if answer.status != 201 or "x-subject-token" not in headers or not isinstance(answer.body, dict):
        return _failed(f"{base}/auth/tokens answers {answer.status}", layer="service")
    token = answer.body["token"]
    scope = (token.get("project") or {}).get("name")
    checks = [
        Check(
            name="token", ok=bool(scope), object=_OBJECT,
            detail=f"scoped to project {scope}, expires {token.get('expires_at')}" if scope else "it has no scope",
        ),
        *_catalog(context, https, base, headers["x-subject-token"]),
    ]  # fmt: skip
    facts = {"token_expires_at": token.get("expires_at"), "catalog": _summary(token.get("catalog") or ())}
    return Verification(checks=tuple(checks), facts=facts)


def scoped_request(values: dict[str, Any]) -> dict[str, Any]:
    """Return the body that asks for a token of the administrator, scoped to the administrator's project."""
    admin = at(values, "endpoints.identity.auth.admin") or {}
    user_domain = {"name": admin.get("user_domain_name", "default")}
    project_domain = {"name": admin.get("project_domain_name", "default")}
    user = {"name": admin.get("username", "admin"), "password": admin.get("password", ""), "domain": user_domain}
    return {
        "auth": {
            "identity": {"methods": ["password"], "password": {"user": user}},
            "scope": {"project": {"name": admin.get("project_name", "admin"), "domain": project_domain}},
        }
    }


def _catalog(context: Context, https: SiteHttps, base: str, token: str) -> Iterable[Check]:
    headers = {"X-Auth-Token": token}
    try:
        endpoints = https.request("GET", f"{base}/endpoints", headers=headers).body or {}
        services = https.request("GET", f"{base}/services", headers=headers).body or {}
    except UnreachedError as error:
        return [Check(name="catalog", ok=False, detail=f"{error.what} ({error.where})", object=_OBJECT)]
    public = public_endpoints(endpoints.get("endpoints") or (), services.get("services") or ())
    rolled_out = {release.name for release in context.plan.openstack.releases}
    routes = [route for route in context.plan.edge.endpoints if route.service in rolled_out]
    served = node_ports(context.api, context.release.namespace)
    return [*judge_routes(public, routes, served, final=_is_last(context, routes)), judge_urls(public, https)]


def _is_last(context: Context, routes: Iterable[EndpointPlan]) -> bool:
    """Keystone verifies before the services that stand on it have written their endpoints: then only its own count."""
    return all(route.service == context.release.name for route in routes)


def _summary(catalog: Iterable[dict[str, Any]]) -> list[dict[str, str]]:
    found = []
    for service in catalog:
        for endpoint in service.get("endpoints") or ():
            if endpoint.get("interface") == "public":
                found.append({"type": str(service.get("type")), "name": str(service.get("name")),
                              "region": str(endpoint.get("region")), "url": str(endpoint.get("url"))})  # fmt: skip
    return sorted(found, key=lambda entry: entry["type"])


def _failed(detail: str, *, layer: Any) -> Verification:
    return Verification(checks=(Check(name="token", ok=False, detail=detail, layer=layer, object=_OBJECT),))
