"""D6: endpoints, routes and services are the same, and the catalog's public URLs work from outside.

Endpoints are what Keystone lists, routes what the edge passes on, services what the cluster offers them to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ...kube.client import Api
from ...kube.types import resource_path
from ...plan.types import EndpointPlan
from ..types import Check
from .https import SiteHttps, UnreachedError


@dataclass(frozen=True, slots=True, order=True)
class Public:
    """One public endpoint of the catalog."""

    type: str
    url: str


def public_endpoints(endpoints: Iterable[Mapping[str, Any]], services: Iterable[Mapping[str, Any]]) -> list[Public]:
    """Return the enabled public endpoints with the type of their service."""
    types = {service.get("id"): str(service.get("type")) for service in services}
    return sorted(
        Public(types.get(endpoint.get("service_id"), "?"), str(endpoint.get("url", "")))
        for endpoint in endpoints
        if endpoint.get("interface") == "public" and endpoint.get("enabled", True)
    )


def node_ports(api: Api, namespace: str) -> dict[int, str]:
    """Return the node ports the Services of a namespace open, with the Service's name."""
    services = api.get(resource_path("v1", "services", namespace=namespace)).get("items") or ()
    return {
        int(port["nodePort"]): str(service["metadata"]["name"])
        for service in services
        for port in (service.get("spec") or {}).get("ports") or ()
        if port.get("nodePort")
    }


def judge_routes(
    public: Iterable[Public], routes: Iterable[EndpointPlan], served: Mapping[int, str], *, final: bool = True
) -> list[Check]:
    """Return whether endpoints have routes, routes Services and, when ``final``, every route an endpoint."""
    public, routes = list(public), list(routes)
    by_name = {route.name: route for route in routes}
    stray = [entry.url for entry in public if (urlsplit(entry.url).hostname or "") not in by_name]
    listed = {urlsplit(entry.url).hostname for entry in public}
    unlisted = [route.name for route in routes if route.name not in listed] if final else []
    counted = routes if final else [route for route in routes if route.name in listed]
    unserved = [f"{route.name} (port {route.node_port})" for route in counted if route.node_port not in served]
    wrong = [f"endpoint without a route: {url}" for url in stray]
    wrong += [f"route without an endpoint: {name}" for name in unlisted]
    return [
        Check(
            name="endpoints are routes", ok=not wrong and bool(public), layer="network", object="the catalog",
            detail="; ".join(wrong) or f"{len(public)} public endpoints",
        ),
        Check(
            name="routes are services", ok=not unserved, layer="network", object="the edge",
            detail="; ".join(f"no Service behind {line}" for line in unserved) or f"{len(counted)} routes",
        ),
    ]  # fmt: skip


def judge_urls(public: Iterable[Public], https: SiteHttps) -> Check:
    """Return whether every public URL resolves, verifies and answers."""
    wrong: list[str] = []
    count = 0
    for entry in public:
        count += 1
        # Some services put the project into the path; discovery is at what comes before it.
        url = entry.url.partition("%(")[0].partition("$(")[0].rstrip("/") + "/"
        try:
            status = https.request("GET", url).status
        except UnreachedError as error:
            wrong.append(f"{entry.url}: {error.what}")
        else:
            if status >= 500:
                wrong.append(f"{entry.url} answers {status}")
    return Check(
        name="public urls", ok=not wrong and count > 0, layer="network", object="the edge",
        detail="; ".join(wrong) or f"{count} resolve and verify from outside",
    )  # fmt: skip
