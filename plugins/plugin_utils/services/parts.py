"""Build the parts of chart values that all services share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..layers.roles import CONTROL_LABEL
from ..layers.scales import Scale
from . import RECORDS, needs, provider, quotas
from .record import PublicApi, ServiceRecord, Values
from .sizes import Sizes
from .timeouts import TIMEOUTS

if TYPE_CHECKING:
    from ..plan.types import EndpointPlan, Plan


def merge(values: Mapping[str, Any], over: Mapping[str, Any]) -> Values:
    """Return ``values`` overridden by ``over``, like Helm: maps are merged, anything else is replaced."""
    merged = dict(values)
    for key, value in over.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = merge(old, value) if both else value  # type: ignore[arg-type]  # mypy does not see that `both` narrows
    return merged


def shared_values(plan: Plan, sizes: Sizes, record: ServiceRecord) -> Values:
    """Return the values derived from ``record`` alone: images from the registry, and endpoints."""
    others = [*(RECORDS[name] for name in needs(record)), *map(provider, record.optional)]
    endpoints: Values = {"cluster_domain_suffix": plan.kubernetes.dns_domain}
    for other, client in (*((other, record.name) for other in others), (record, "")):
        if other.endpoints:
            endpoints = merge(endpoints, other.endpoints(plan, sizes, client))
        for api in (other.apis[:1] if client else other.apis) if not other.endpoints else ():
            endpoints = merge(endpoints, api_endpoint(plan, other.name, api))
    known = [other for other in others if other.name not in record.nobody_at]
    images = {tag: image for other in known for tag, image in other.client_images.items()}
    images |= {**record.images, "dep_check": "dep-check"}
    return {
        "images": {
            "tags": {tag: plan.supply.images[image] for tag, image in sorted(images.items())},
            "pull_policy": "IfNotPresent",
            "local_registry": {"active": False},
        },
        "endpoints": endpoints,
        "manifests": {"job_image_repo_sync": False},
        "conf": reduce(
            merge, (_token_validation(record), quotas.values(plan, record.name), _keys(plan, record)), _roles(record)
        ),
    }


def _roles(record: ServiceRecord) -> Values:
    """Return `conf` of an API with policies: the roles reader, member, manager and admin mean the same in all of them.

    Cinder alone still has both options off: there a reader of a project might write, as in releases before Xena.
    """
    on = {"enforce_scope": True, "enforce_new_defaults": True}
    return {record.name: {"oslo_policy": on}} if "cache" in record.uses else {}


def _keys(plan: Plan, record: ServiceRecord) -> Values:
    """Return `conf` of who asks Barbican: keys of encrypted volumes, certificates of signed images.

    Castellan would look for Keystone on localhost.
    """
    if record.name not in ("cinder", "glance", "nova") or "barbican" not in plan.openstack.services:
        return {}
    identity = f"http://keystone-api.{plan.openstack.namespace}.svc.{plan.kubernetes.dns_domain}:5000/v3"
    options = {
        "auth_endpoint": identity, "barbican_endpoint_type": "internal", "barbican_region_name": plan.openstack.region,
    }  # fmt: skip
    return {record.name: {"key_manager": {"backend": "barbican"}, "barbican": options}}


def _token_validation(record: ServiceRecord) -> Values:
    """Return `conf` of an API that validates tokens: it waits for Keystone a while, and remembers the answer itself.

    No Memcached: the client library unpickles what it is given before anything is decrypted or verified, so that who
    reaches it would run code in every API. A blank, since OpenStack-Helm's charts replace an empty list by their own.
    keystonemiddleware has no limit of its own: a Keystone that is stuck would hold every process of every API, for as
    long as their liveness probes let it.
    """
    if "cache" not in record.uses or "keystone" not in record.needs:
        return {}
    patience = {"http_connect_timeout": TIMEOUTS.identity, "http_request_max_retries": 1}  # of the whole answer
    return {record.name: {"keystone_authtoken": {"memcached_servers": " ", **patience}}}


def public_endpoint(plan: Plan, service: str, type_: str = "") -> EndpointPlan:
    """Return the endpoint of the service's main API, or of ``type_``. Raises KeyError when the edge has none."""
    for endpoint in plan.edge.endpoints:
        if endpoint.service == service and type_ in ("", endpoint.type):
            return endpoint
    raise KeyError(f"the plan's edge has no endpoint for {service}, which has an API")


def api_endpoint(plan: Plan, service: str, api: PublicApi) -> Values:
    """Return ``endpoints.<type>``: the name inside the cluster and the public URL of the catalog.

    TLS ends at the site's edge, so the public endpoint has its own scheme, name and port.
    """
    public = urlsplit(public_endpoint(plan, service, api.type).url)
    backend = api.backend or f"{service}-api"
    ports = dict.fromkeys(("default", "internal", "service"), api.port)
    return {
        api.type.replace("-", "_"): {
            # Charts of the tag 2026.1.0 name their ingress by "public": it must be unique, and no API's Service.
            "hosts": {"default": backend, "internal": backend, "public": f"{backend}-public"},
            "host_fqdn_override": {"public": {"host": public.hostname}},
            "scheme": {"default": "http", "public": public.scheme, "service": "http"},
            "port": {api.port_name: {**ports, "public": public.port or {"https": 443, "http": 80}[public.scheme]}},
            "path": {"default": public.path},
        }
    }


# Processes of an API pod by scale: each is a Python process of about 120 MiB.
WORKERS: Mapping[Scale, int] = {"tiny": 1, "small": 2, "medium": 3, "large": 4}
# Of those whose requests take seconds, or ask each other: one at a time would let a tenant's boot wait for another's.
WORKERS_OF_SLOW: Mapping[Scale, int] = {**WORKERS, "tiny": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartNames:
    """A chart's names of its API and pods."""

    api: str = "api"  # under network, pod.replicas and pod.lifecycle
    resources: str = "api"  # under pod.resources
    probes: tuple[str, str] | None = ("api", "api")  # under pod.probes: component and container; None: not to be set
    labels: tuple[str, ...] = ("api", "job", "test")


def api_values(
    plan: Plan, sizes: Sizes, service: str, *, memory: str, limit: str, cpu: int, names: ChartNames = ChartNames()
) -> Values:
    """Return the values common to all APIs: node port, replicas, probes, resources, one extra pod during an update."""
    endpoint, pods = public_endpoint(plan, service), sizes.pods[service]
    # Probes query the API, not a file, at a path that works without the database: a database fault must not
    # restart the API.
    health = endpoint.health_path.rstrip("/") or "/"
    return {
        "labels": node_labels(names.labels),
        "endpoints": {endpoint.type.replace("-", "_"): {"path": {"healthcheck": health}}},
        "network": {names.api: {"node_port": {"enabled": True, "port": endpoint.node_port}}},
        "pod": {
            "replicas": {names.api: pods},
            "affinity": anti_affinity(sizes, members=pods, quorum=False),
            "lifecycle": {
                # The new pod is ready before an old one stops, even with one replica.
                "upgrades": {"deployments": {"rolling_update": {"max_unavailable": 0, "max_surge": 1}}},
                "disruption_budget": {names.api: {"min_available": 1 if pods > 1 else 0}},
            },
            **({"probes": api_probes(*names.probes)} if names.probes else {}),
            "resources": {
                "enabled": sizes.resources,
                names.resources: resources(memory=memory, limit=limit, cpu=sizes.cpu(cpu)),
            },
        },
    }


def uwsgi(processes: int, **options: Any) -> Values:
    """Return uWSGI's options. Without need-app, a failed application answers 500 forever and looks alive.

    uWSGI itself gives a client 4 seconds, and what it has sent by then looks complete: the edge is to give up first.
    """
    patience = {"socket-timeout": TIMEOUTS.server_client}
    return {"uwsgi": {"processes": processes, "need-app": True, **patience, **options}}


def queued(service: str) -> Values:
    """Return `conf` of a message queue client. RabbitMQ 4 has quorum queues, and no mirroring policies.

    Notifications have no consumer yet, and with a driver a broken queue would stall every request.
    """
    rabbit = {"rabbit_quorum_queue": True, "rabbit_transient_quorum_queue": True, "rabbit_ha_queues": False}
    return {
        service: {"oslo_messaging_rabbit": rabbit, "oslo_messaging_notifications": {"driver": "noop"}},
        "rabbitmq": {"policies": []},
    }


def node_labels(names: Iterable[str]) -> Values:
    """Return ``labels`` that place every workload in ``names`` on control-plane nodes."""
    return {name: {"node_selector_key": CONTROL_LABEL, "node_selector_value": "enabled"} for name in names}


def anti_affinity(sizes: Sizes, *, members: int, quorum: bool) -> Values:
    """Return ``pod.affinity``: members avoid each other's host or rack.

    It is required for a ``quorum`` with enough hosts or racks. Otherwise it is preferred, because a rolling update
    starts one pod more than there are hosts or racks.
    """
    strict = quorum and sizes.spread and members > 1
    kind = f"{'required' if strict else 'preferred'}DuringSchedulingIgnoredDuringExecution"
    return {
        "anti": {"type": {"default": kind}, "topologyKey": {"default": sizes.topology_key}, "weight": {"default": 10}}
    }


def probes(component: str, container: str, *, patience: int) -> Values:
    """Return ``pod.probes``. Liveness starts after ``patience`` seconds."""
    return _probes(component, container, ready=_probe(5, 10, 10), alive=_probe(patience, 30, 15))


def api_probes(component: str, container: str) -> Values:
    """Return ``pod.probes`` of an API, which answers a probe after the requests before it.

    A busy pod that is taken out leaves its load to the others, and one that is killed loses what it had begun: it has
    a minute to answer, and three not to be restarted. One that is gone refuses at once, as ever.
    """
    return _probes(component, container, ready=_probe(5, 10, 20), alive=_probe(60, 60, 60))


def _probes(component: str, container: str, *, ready: Values, alive: Values) -> Values:
    return {component: {container: {"readiness": ready, "liveness": alive}}}


def _probe(delay: int, period: int, timeout: int) -> Values:
    params = {"initialDelaySeconds": delay, "periodSeconds": period, "timeoutSeconds": timeout}
    return {"enabled": True, "params": params}


def resources(*, memory: str, limit: str, cpu: str) -> Values:
    """Return requests and limits. No CPU limit: a throttled quorum member looks dead."""
    return {"requests": {"memory": memory, "cpu": cpu}, "limits": {"memory": limit}}
