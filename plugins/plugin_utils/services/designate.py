"""Designate: DNS zones, served by the site's own name servers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..health.verification import Check
from .parts import WORKERS, ChartNames, api_values, merge, public_endpoint, queued, resources, uwsgi
from .probing import Client, probe
from .record import Advice, PublicApi, ServiceRecord, Values
from .sizes import Sizes

if TYPE_CHECKING:
    from ..plan.types import Plan

_NAMES = ChartNames(probes=None, labels=("api", "central", "mdns", "producer", "worker", "job"))
_WORKERS = ("central", "mdns", "producer", "worker")  # all but the API
_TRANSFERS = 5354  # port of mdns, which answers name servers
_NODE_PORT = 30354
_NO_SERVERS = """- name: default
  description: {domain}
  attributes: {{}}
  ns_records: [{{hostname: ns1.{domain}., priority: 1}}]
  nameservers: []
  targets: []
"""  # other text would restart all of Designate
# The zone that lists users' zones for name servers (RFC 9432). Nobody can ask for a name in it.
CATALOG = "catalog.invalid"


def values(plan: Plan, sizes: Sizes) -> Values:
    """Return the chart's values: the API, and the workers that store zones and notify name servers."""
    pods = sizes.pods["designate"]
    own = {
        "conf": {
            "designate": {
                **queued("designate")["designate"],
                "service:api": {"api_base_uri": public_endpoint(plan, "designate").url.rstrip("/")},
                # Without a number, this release's workers exit at their start.
                **{f"service:{name}": {"workers": 1} for name in _WORKERS},
            },
            # This release has no script for the chart's `wsgi-file`.
            "designate_api_uwsgi": uwsgi(
                sizes.workers["designate"], module="designate.wsgi.api:application", **{"wsgi-file": None}
            ),
            "pools": _pools(plan),
        },
        "extraObjects": {"minidns": _transfers(plan)},
        "pod": {
            # Several producers at a time would need a coordinator, which is not deployed.
            "replicas": {**dict.fromkeys(_WORKERS, pods), "producer": sizes.single},
            "resources": {name: resources(memory="128Mi", limit="1Gi", cpu=sizes.cpu(50)) for name in _WORKERS},
        },
        # The cleaner would load Designate's libraries every ten minutes. The charts' Service cannot set its node port.
        "manifests": {"cron_job_service_cleaner": False, "job_bootstrap": False, "service_mdns": False},
    }
    return merge(api_values(plan, sizes, "designate", memory="256Mi", limit="1Gi", cpu=100, names=_NAMES), own)


def internal_url(plan: Plan) -> str:
    """Return the API's URL inside the cluster."""
    name = f"designate-api.{plan.openstack.namespace}.svc.{plan.kubernetes.dns_domain}"
    return f"http://{name}:{_API.port}/v2"


def name_servers(plan: Plan) -> list[str]:
    """Return the site's own name servers, as users' zones' NS records have them."""
    return [f"{name}." for name in plan.openstack.dns.name_servers]


def _pools(plan: Plan) -> str:
    """Return pools.yaml: one pool, of the site's own name servers. Without one, zones end in ERROR.

    They find zones in the catalog zone, so that Designate needs no key to control them. A type that Designate would
    control by `rndc`, which is not in its image, fails aloud where the catalog zone is missing.
    """
    servers = plan.openstack.dns.name_servers.values()
    if not servers:
        return _NO_SERVERS.format(domain=plan.domain)
    control = [host.address for host in plan.hosts.values() if "control" in host.roles]
    masters = [{"host": address, "port": _NODE_PORT} for address in control]
    pool = {
        "name": "default",
        "description": plan.domain,
        "attributes": {},
        "ns_records": [{"hostname": name, "priority": 1} for name in name_servers(plan)],
        "nameservers": [{"host": address, "port": 53} for address in servers],
        "targets": [
            {"type": "bind9", "masters": masters, "options": {"host": address, "port": 53}} for address in servers
        ],
        "catalog_zone": {"catalog_zone_fqdn": f"{CATALOG}.", "catalog_zone_refresh": 60},
    }
    return json.dumps([pool], indent=2) + "\n"  # lines, as OpenStack-Helm's chart quotes what is one line


def _transfers(plan: Plan) -> Values:
    """Return the Service from which the site's name servers fetch zones: a port on every node."""
    ports = {"d-mdns": "TCP", "d-mdns-udp": "UDP"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "minidns", "namespace": plan.openstack.namespace},
        "spec": {
            "type": "NodePort",
            "selector": {"application": "designate", "component": "mdns", "release_group": "designate"},
            "ports": [
                {"name": name, "port": _TRANSFERS, "protocol": protocol, "nodePort": _NODE_PORT}
                for name, protocol in ports.items()
            ],
        },
    }


def _ask(client: Client) -> Iterator[Check]:
    """Verify that zones are listed, which needs the queue and the database, and every worker is up."""
    client.call("GET", "/zones?limit=1")
    yield judge((client.call("GET", "/service_statuses").body or {}).get("service_statuses") or ())
    plan = client.context.plan
    if plan.openstack.dns.name_servers:
        pools = (client.call("GET", "/pools").body or {}).get("pools") or ()
        yield judge_pools(pools, name_servers(plan))


def judge(listed: Iterable[Mapping[str, Any]]) -> Check:
    """Check that at least one of each worker is up; entries of deleted pods stay in the list."""
    alive = {str(one.get("service_name")) for one in listed if one.get("status") == "UP"}
    silent = [name for name in _WORKERS if name not in alive]
    return Check(
        name="workers",
        ok=not silent,
        object=f"Deployment/designate-{silent[0] if silent else 'central'}",
        detail=f"nothing is heard of {', '.join(silent)}" if silent else "zones are listed, every worker is up",
    )


def judge_pools(pools: Iterable[Mapping[str, Any]], wanted: Iterable[str]) -> Check:
    """Check that a pool has the ``wanted`` name servers; the worker's start puts them there."""
    have = {str(one.get("hostname")) for pool in pools for one in pool.get("ns_records") or ()}
    missing = [name for name in wanted if name not in have]
    return Check(
        name="name servers",
        ok=not missing,
        object="Deployment/designate-worker",
        detail=f"in no pool: {', '.join(missing)}" if missing else "in the pool, with all that the site file names",
    )


_API = PublicApi(type="dns", host="dns", port=9001, node_port=30901)
SERVICE = ServiceRecord(
    name="designate",
    needs=("keystone",),
    uses=("database", "queue", "cache"),
    api=_API,
    images=dict.fromkeys((f"designate_{name}" for name in ("api", "db_sync", *_WORKERS)), "openstack-more"),
    workers=WORKERS,
    advice=(
        Advice(
            name="zones-without-name-servers",
            when=lambda plan, _: (
                not plan.openstack.dns.name_servers
                and "pools" not in plan.openstack.overrides.get("designate", {}).get("conf", {})
            ),
            what="Designate knows no name server: a zone that is made ends in ERROR",
            why="this collection installs none, and Designate hands zones to the servers of its pools",
            remedy="write the site's own as openstack.dns.name_servers (docs/dns-and-certificates.md)",
        ),
    ),
    values=values,
    verify=probe("designate", _ask, path="/v2"),
)
