"""Verify the site as a whole: the catalog's endpoints, the edge's routes and the cluster's Services agree.

Checked once, after all releases: each writes its own endpoints, so none can judge them for the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from ...health.context import VerifierContext
from ...health.verification import Check, Verification
from ...https import UnansweredError
from ...plan.types import EndpointPlan
from ...services import RECORDS
from ...services.keystone import token
from ...services.parts import public_endpoint
from ...services.record import PublicApi
from ..gate.reasons import holders_of_node_ports
from ..types import RolloutError


def verify_catalog(context: VerifierContext) -> Verification:
    """Return whether catalog, edge and cluster agree, and the catalog as it is now. ``context``: of Keystone.

    Raises UnansweredError.
    """
    issued = token(context)
    if isinstance(issued, Check):
        return Verification(checks=(issued,))
    url = f"{public_endpoint(context.plan, context.release.name).url.rstrip('/')}/endpoints"
    listed = context.request("GET", url, headers={"X-Auth-Token": issued.id}).body or {}
    urls = public_urls(listed.get("endpoints") or ())
    rolled_out = {release.name for release in context.plan.openstack.releases}
    routes = [route for route in context.plan.edge.endpoints if route.service in rolled_out]
    held = holders_of_node_ports(context.api)
    served = {port for port, ref in held.items() if ref.namespace == context.release.namespace}
    kept = [
        (record.name, f"{api.host}.{context.plan.domain}")
        for record in RECORDS.values()
        for api in record.apis
        if record.name not in rolled_out and (api.node_port in served or (api.role and _listed(urls, api, context)))
    ]
    for _, host in kept:  # no longer in the site file, not removed: it has no route on purpose
        urls = [url for url in urls if urlsplit(url).hostname != host]
    return Verification(
        checks=(
            judge_endpoints(urls, routes),
            judge_services(routes, served),
            judge_types(issued.catalog, routes),
            _judge_answers(context, urls),
            *(Check(name="kept", ok=True, detail=f"{name} is no longer in the site file") for name, _ in kept),
        ),
        facts={"token_expires_at": issued.expires, "catalog": issued.catalog},
    )


def _listed(urls: Iterable[str], api: PublicApi, context: VerifierContext) -> bool:
    return f"{api.host}.{context.plan.domain}" in [urlsplit(url).hostname for url in urls]


def leave_catalog(context: VerifierContext, service: str) -> None:
    """Delete the entries of a removed service, endpoints included, from the catalog. ``context``: of Keystone.

    Raises RolloutError when Keystone does not answer or refuses.
    """
    record = RECORDS.get(service)
    apis = [api for api in record.apis if api.in_catalog] if record else []
    try:
        if apis:
            _delete_entries(context, {f"{api.host}.{context.plan.domain}" for api in apis})
    except UnansweredError as error:
        raise RolloutError(
            f"the catalog still lists {service}: {error.what}",
            where=error.where,
            why="clients would go on asking what is no longer there",
            remedy="run it again when Keystone works; by hand: openstack endpoint list, openstack service delete ID",
        ) from error


def _delete_entries(context: VerifierContext, hosts: set[str]) -> None:
    """Delete what has an endpoint on ``hosts``: what an entry is called is its chart's (cinderv3, swift, heat-cfn)."""
    base = public_endpoint(context.plan, context.release.name).url.rstrip("/")
    issued = token(context)
    if isinstance(issued, Check):
        raise UnansweredError(issued.detail, where=base)
    headers = {"X-Auth-Token": issued.id}
    listed = context.request("GET", f"{base}/endpoints", headers=headers).body or {}
    found = {one["service_id"] for one in listed.get("endpoints") or () if urlsplit(one["url"]).hostname in hosts}
    for entry in sorted(found):
        status = context.request("DELETE", f"{base}/services/{entry}", headers=headers).status
        if status not in (204, 404):
            raise UnansweredError(f"deleting service {entry} answers {status}", where=base)


def public_urls(endpoints: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the URLs of the public endpoints that are enabled."""
    return sorted(
        str(endpoint.get("url", ""))
        for endpoint in endpoints
        if endpoint.get("interface") == "public" and endpoint.get("enabled", True)
    )


def judge_endpoints(urls: Iterable[str], routes: Iterable[EndpointPlan]) -> Check:
    """Return whether every endpoint of the catalog has a route and every route of a listed service an endpoint."""
    by_host = {urlsplit(url).hostname or "": url for url in urls}
    by_name = {route.name: route for route in routes}
    wrong = [f"endpoint without a route: {url}" for host, url in by_host.items() if host not in by_name]
    wrong += [
        f"route without an endpoint: {name}"
        for name, route in by_name.items()
        if name not in by_host and route.in_catalog
    ]
    return Check(
        name="endpoints are routes", ok=not wrong and bool(by_host), layer="network", object="the catalog",
        detail="; ".join(wrong) or f"{len(by_host)} public endpoints",
    )  # fmt: skip


def judge_types(catalog: Iterable[Mapping[str, str]], routes: Iterable[EndpointPlan]) -> Check:
    """Return whether the catalog has each service by its official type, too, at the same URL."""
    listed = {(one["type"], one["url"].rstrip("/")) for one in catalog}
    every = [(api.official, route.url.rstrip("/"), route.type) for route in routes for api in _apis_of(route)]
    wrong = [f"{old} is not listed as {new}, {url}" for new, url, old in every if (new, url) not in listed]
    return Check(
        name="official types", ok=not wrong, layer="network", object="the catalog",
        detail="; ".join(wrong) or ", ".join(new for new, _, _ in every) or "no service has an older name",
    )  # fmt: skip


def _apis_of(route: EndpointPlan) -> list[PublicApi]:
    return [api for api in RECORDS[route.service].apis if api.type == route.type and api.official]


def judge_services(routes: Iterable[EndpointPlan], served: Collection[int]) -> Check:
    """Return whether every route leads to a Service. ``served``: node ports, also those for hosts and name servers."""
    by_port = {route.node_port: route for route in routes if not route.servers}
    wrong = [f"no Service behind {route.name} (port {port})" for port, route in by_port.items() if port not in served]
    return Check(
        name="routes are services", ok=not wrong, layer="network", object="the edge",
        detail="; ".join(wrong) or f"{len(by_port)} routes",
    )  # fmt: skip


def _judge_answers(context: VerifierContext, urls: list[str]) -> Check:
    """Return whether every public URL resolves, verifies and answers."""
    wrong: list[str] = []
    for url in urls:
        # Some services put the project into the path; discovery is at the part before it.
        asked = url.partition("%(")[0].partition("$(")[0].rstrip("/") + "/"
        try:
            status = context.request("GET", asked).status
        except UnansweredError as error:
            wrong.append(f"{url}: {error.what}")
        else:
            if status >= 500:
                wrong.append(f"{url} answers {status}")
    return Check(
        name="public urls", ok=bool(urls) and not wrong, layer="network", object="the edge",
        detail="; ".join(wrong) or f"{len(urls)} resolve and verify from outside",
    )  # fmt: skip
