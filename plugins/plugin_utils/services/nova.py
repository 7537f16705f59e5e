"""Nova: servers. Hypervisors are hosts outside the cluster, and not part of these values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from ..health.verification import Check
from . import ceph, dialects, sriov
from .certificates import given
from .neutron import METADATA_PROXY
from .parts import (
    WORKERS_OF_SLOW,
    ChartNames,
    api_probes,
    api_values,
    merge,
    probes,
    public_endpoint,
    queued,
    resources,
    uwsgi,
)  # fmt: skip
from .probing import Client, probe
from .record import PodCertificate, PublicApi, ServiceRecord, Values
from .secrets import secret
from .sizes import Sizes
from .timeouts import TIMEOUTS

if TYPE_CHECKING:
    from ..plan.types import Plan

_NAMES = ChartNames(
    api="osapi", probes=("api-osapi", "default"),
    labels=("api_metadata", "conductor", "job", "novncproxy", "osapi", "scheduler"),
)  # fmt: skip
_OTHERS = ("api_metadata", "conductor", "novncproxy", "scheduler")  # beside the API
_BINARIES = ("nova-conductor", "nova-scheduler")
_COMPUTE = "nova-compute"
_VERSION = {"OpenStack-API-Version": "compute 2.95"}
_CONSOLE = "/vnc_lite.html"

_JOBS = ["nova-db-sync", "nova-ks-user", "nova-rabbit-init"]
# The console proxy's certificate (Secret) and options (ConfigMap). The options are in nova.conf.d, because
# OpenStack-Helm's chart requests a certificate from cert-manager when conf.nova contains the word vencrypt.
_VENCRYPT = "nova-novncproxy-vencrypt"
_SNIPPETS = "/etc/nova/nova.conf.d"

_DISCOVERY = 20  # seconds between searches for new hypervisors, which wait for it to join
# After a move of the virtual IP, pooled connections hang: each call to another service gets a timeout.
_TIMEOUT = {"timeout": TIMEOUTS.service}


def values(plan: Plan, sizes: Sizes) -> Values:
    workers, pods = sizes.workers["nova"], sizes.pods["nova"]
    pod = resources(memory="256Mi", limit="1Gi", cpu=sizes.cpu(250))
    queue = [{"endpoint": "internal", "service": name} for name in ("oslo_messaging", "oslo_db", "identity")]
    own = {
        "network": {
            "backend": ["ovn"],
            "metadata": {"node_port": {"enabled": True, "port": _port(plan, "compute-metadata")}},
            "novncproxy": {"node_port": {"enabled": True, "port": _port(plan, "compute-novnc-proxy")}},
        },
        # They do not need the API, and waiting for it delayed the rollout's longest path. Without their account they
        # exit, and Kubernetes restarts them with growing delays.
        "dependencies": {"static": {name: {"services": queue, "jobs": _JOBS} for name in ("conductor", "scheduler")}},
        "conf": merge(
            queued("nova"),
            {
                "ceph": {"enabled": False},
                "nova": {
                    "DEFAULT": {
                        "osapi_compute_workers": workers, "metadata_workers": workers,
                        "enable_new_services": False,  # until a test instance on it answers (hypervisors, step probe)
                    },
                    "cache": {"enabled": False},  # of each process, in its own memory
                    "conductor": {"workers": workers},
                    "scheduler": {"workers": workers, "discover_hosts_in_cells_interval": _DISCOVERY},
                    "neutron": {
                        **_TIMEOUT, "service_metadata_proxy": True,
                        "metadata_proxy_shared_secret": secret(METADATA_PROXY),
                    },
                    "placement": _TIMEOUT,
                    "glance": _TIMEOUT,
                    "service_user": {**_TIMEOUT, "send_service_user_token": True},
                },
                "nova_api_uwsgi": uwsgi(workers),
                "nova_metadata_uwsgi": uwsgi(workers),
            },
        ),
        "pod": {
            "replicas": dict.fromkeys(_OTHERS, pods),
            "etcSources": {
                "nova_novncproxy": [{"configMap": {"name": _VENCRYPT}}, {"secret": {"name": _VENCRYPT}}],
            },
            "useHostNetwork": {"novncproxy": False},
            "lifecycle": {"disruption_budget": {"metadata": {"min_available": 1 if pods > 1 else 0}}},
            "probes": {
                **api_probes("api-metadata", "default"),
                **probes("novncproxy", "default", patience=60),
                **{name: {"default": _queued()} for name in ("conductor", "scheduler")},
            },
            "resources": dict.fromkeys(_OTHERS, pod),
        },
        "extraObjects": {"novncproxy_vencrypt": _vencrypt()},
        # Parts for hypervisors in Kubernetes, and jobs that would wait for one forever (db-sync maps cells, hosts are
        # discovered when they join).
        "manifests": {
            "cron_job_cell_setup": False,
            "cron_job_service_cleaner": False,
            "daemonset_compute": False,
            "deployment_serialproxy": False,
            "deployment_spiceproxy": False,
            "job_bootstrap": False,
            "job_cell_setup": False,
            "job_storage_init": False,
            "pod_rally_test": False,
            "secret_ssh": False,
            "service_serialproxy": False,
            "service_spiceproxy": False,
        },
    }  # fmt: skip
    shared = api_values(plan, sizes, "nova", memory="512Mi", limit="2Gi", cpu=500, names=_NAMES)
    parts = (shared, own, _disks(plan), _domain(plan), _tpm(plan), _signatures(plan), sriov.nova(plan))
    return reduce(merge, parts)


def _domain(plan: Plan) -> Values:
    """Return the domain that instances read of themselves in their metadata."""
    domain = plan.openstack.dns.domain
    return {"conf": {"nova": {"api": {"dhcp_domain": domain}}}} if domain else {}


def _tpm(plan: Plan) -> Values:
    """Return the options of emulated TPMs, whose accounts are Nova's defaults in Debian's packages, too (tss).

    Without ``deployment``: Nova's account has no role by which Barbican would store a secret for it.
    """
    offered = {"swtpm_enabled": True, "supported_tpm_secret_security": "user,host"}
    return {"conf": {"nova": {"libvirt": offered}}} if "barbican" in plan.openstack.services else {}


def _signatures(plan: Plan) -> Values:
    """Return the option by which nova-compute starts only images with a right signature, where it copies them."""
    required = plan.openstack.image_signatures == "required"
    return {"conf": {"nova": {"glance": {"verify_glance_signatures": True}}}} if required else {}


def _disks(plan: Plan) -> Values:
    """Return the place of instance disks in Ceph; each hypervisor's hardware profile decides whether it uses it."""
    if not plan.ceph or not plan.hypervisor.disks:
        return {}
    client = plan.hypervisor.disks
    libvirt = {
        "images_rbd_pool": plan.ceph.pools["vms"].name,
        "rbd_user": ceph.user(plan.ceph, "nova"),
        "rbd_secret_uuid": client.uuid,
    }
    return {"conf": {"nova": {"libvirt": libvirt}}}


def has_console(plan: Plan) -> bool:
    """Return whether the site deploys the console proxy; charts do unless a value disables it."""
    releases = (one.values for one in plan.openstack.releases if one.name == SERVICE.name)
    return any(one.get("manifests", {}).get("deployment_novncproxy", True) for one in releases)


def _vencrypt() -> Values:
    """Return the console proxy's options: only TLS to hypervisors, with a client certificate."""
    files = {"client_key": "tls.key", "client_cert": "tls.crt", "ca_certs": "ca.crt"}
    lines = ["[vnc]", "auth_schemes = vencrypt"]
    lines += [f"vencrypt_{option} = {_SNIPPETS}/{name}" for option, name in files.items()]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": _VENCRYPT},
        "data": {"vnc.conf": "\n".join(lines) + "\n"},
    }


def _certificates(_plan: Plan) -> tuple[PodCertificate, ...]:
    """Return the console proxy's client certificate for hypervisors."""
    return (
        PodCertificate(
            user="nova-novncproxy", secret=_VENCRYPT, usage="client", authority="console", believes="hypervisor"
        ),
    )


def _port(plan: Plan, type_: str) -> int:
    return public_endpoint(plan, "nova", type_).node_port


def _queued() -> Values:
    """Return probes of queue workers: ready while connected, never restarted: that would not repair the queue."""
    params = {"initialDelaySeconds": 5, "periodSeconds": 15, "timeoutSeconds": 10}
    return {"readiness": {"enabled": True, "params": params}, "liveness": {"enabled": False}}


def _ask(client: Client) -> Iterator[Check]:
    """Verify that scheduler and conductor report in a mapped cell, and servers are listed at the catalog's URL."""
    services = (client.call("GET", "/os-services").body or {}).get("services") or ()
    yield judge_cells(services)
    yield judge_services(services)
    # Listing servers queries every cell.
    listed = [entry["url"].rstrip("/") for entry in client.token.catalog if entry["type"] == "compute"]
    if not listed:
        yield Check(name="servers", ok=False, detail="the catalog has no compute endpoint", object=_API)
        return
    servers = client.at(listed[0]).call("GET", "/servers/detail?all_tenants=1&limit=20").body or {}
    yield judge_servers(servers, url=listed[0])
    yield given(client.context, _VENCRYPT, owner="Deployment/nova-novncproxy")


def judge_cells(services: Sequence[Mapping[str, Any]]) -> Check:
    """Check that services report in a mapped cell: the API finds them only by the mapping."""
    detail = (
        f"mapped, {len(services)} services report in it" if services else "none is mapped, or nothing reports in it"
    )
    return Check(name="cells", ok=bool(services), detail=detail, layer="database", object="Job/nova-db-sync")


def judge_services(services: Iterable[Mapping[str, Any]]) -> Check:
    """Check that each control-plane service is up somewhere. The layer hypervisor checks computes."""
    up = {str(one.get("binary")) for one in services if one.get("state") == "up"}
    missing = [name for name in _BINARIES if name not in up]
    computes = [one for one in services if one.get("binary") == _COMPUTE]
    alive = sum(one.get("state") == "up" for one in computes)
    detail = f"not up: {', '.join(missing)}" if missing else f"up, and {alive} of {len(computes)} computes"
    return Check(
        name="services", ok=not missing, detail=detail, layer="message queue",
        object=f"Deployment/{missing[0]}" if missing else _API,
    )  # fmt: skip


def judge_servers(answer: Mapping[str, Any], *, url: str) -> Check:
    """Check that servers were listed, and every cell answered."""
    servers = answer.get("servers")
    if servers is None:
        return Check(name="servers", ok=False, detail=f"{url}/servers lists none", object=_API)
    lost = [one for one in servers if one.get("status") == "UNKNOWN"]
    detail = f"{len(lost)} servers are of a cell that does not answer" if lost else f"listed at {url}"
    return Check(name="servers", ok=not lost, detail=detail, layer="database" if lost else "service", object=_API)


_API = "Deployment/nova-api-osapi"

SERVICE = ServiceRecord(
    name="nova",
    needs=("keystone", "placement", "neutron", "glance"),
    uses=("database", "queue", "cache"),
    databases={"oslo_db": "nova_api", "oslo_db_cell0": "nova_cell0", "oslo_db_cell1": "nova"},
    accounts={
        "neutron": "for calls to Neutron",
        "placement": "for calls to Placement",
        "cinder": "for calls to Cinder",  # OpenStack-Helm's chart creates it, with a public default password
        "service": "whose token goes along with a tenant's",
    },
    slowness=2.0,  # three schemas, and the longest start
    runs_on=("hypervisor", "nova has nowhere to start a server"),
    shares=tuple(
        (
            "conf.nova.neutron.metadata_proxy_shared_secret",
            "neutron",
            f"conf.{agent}.DEFAULT.metadata_proxy_shared_secret",
        )
        for agent in ("metadata_agent", "ovn_agent", "ovn_metadata_agent")
    ),
    api=PublicApi(
        type="compute", host="compute", path="/v2.1", port=8774, node_port=30774
    ),
    more_apis=(
        PublicApi(
            type="compute-metadata", host="metadata", path="/", port=8775, node_port=30775, backend="nova-metadata",
            port_name="metadata", in_catalog=False, for_hosts=True,
        ),
        PublicApi(
            type="compute-novnc-proxy", host="console", path=_CONSOLE, health=_CONSOLE, port=6080, node_port=30680,
            backend="nova-novncproxy", port_name="novnc_proxy", in_catalog=False,
        ),
    ),
    images={
        "nova_api": "openstack",
        "nova_conductor": "openstack",
        "nova_db_sync": "openstack",
        "nova_novncproxy": "openstack",
        "nova_novncproxy_assets": "openstack",
        "nova_scheduler": "openstack",
    },
    certificates=_certificates,
    workers=WORKERS_OF_SLOW,
    values=values,
    dialect=dialects.nova,
    verify=probe("nova", _ask, headers=_VERSION),
)  # fmt: skip
