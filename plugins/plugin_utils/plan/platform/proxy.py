"""The proxy of the site, and what never goes there."""

from __future__ import annotations

from urllib.parse import urlsplit

from ..layout.context import Layout
from ..part_types import ProxyPlan
from ..types import EdgePlan, KubernetesPlan, SupplyPlan

LOGIN = "proxy/login"  # the given secret: user:password
LOOPBACK = ("localhost", "127.0.0.1", "127.0.0.0/8", "::1")


def proxy(layout: Layout, edge: EdgePlan, supply: SupplyPlan, kubernetes: KubernetesPlan) -> ProxyPlan | None:
    """Return the proxy with every place of the site among those that are reached past it; None: there is none."""
    written = layout.site.proxy
    if written is None or not (url := written.http or written.https):
        return None
    servers = [f"//{supply.registry}", supply.files_url, layout.site.hosts.packages_url or ""]
    places = [
        *LOOPBACK,
        layout.site.domain,
        f".{layout.site.domain}",
        *(network.cidr for network in layout.networks.values() if network.cidr),
        edge.address,  # for clients that know no networks
        *([edge.public.address] if edge.public else []),
        kubernetes.service_cidr,
        kubernetes.pod_cidr,
        ".svc",
        f".{kubernetes.dns_domain}",
        *sorted({name for one in servers if (name := urlsplit(one).hostname)}),
        *written.no_proxy,
    ]
    return ProxyPlan(
        http=written.http or url,
        https=written.https or url,
        no_proxy=tuple(dict.fromkeys(places)),
        login=LOGIN if written.login else None,
        ca=written.ca,
    )
