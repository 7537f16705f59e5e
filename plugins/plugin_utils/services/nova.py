"""Nova: servers. Hypervisors are hosts outside the cluster; nothing of theirs is in these values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import ceph, dialects
from .certificates import given
from .neutron import METADATA_PROXY
from .parts import (
    WORKERS,
    ChartNames,
    api_values,
    merge,
    probes,
    public_endpoint,
    queued,
    resources,
    uwsgi,
)  # fmt: skip
from .probing import Client, probed
from .record import PodCertificate, PublicApi, ServiceRecord, Values
from .secrets import secret
from .sizes import Sizes
from .verification import Check, Verification

if TYPE_CHECKING:
    from ..plan.types import Plan
    from ..rollout.verify.context import VerifierContext

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
# What the console proxy shows hypervisors: a Secret with its certificate, a ConfigMap with its options. Both are in
# nova.conf.d, because OpenStack-Helm's chart asks a cert-manager for one when it sees the word in conf.nova.
_VENCRYPT = "nova-novncproxy-vencrypt"
_SNIPPETS = "/etc/nova/nova.conf.d"

_DISCOVERY = 20  # seconds between two looks for new hypervisors: who joins waits for it
# A moved virtual IP leaves pooled connections in a black hole: each call to another service has an end.
_TIMEOUT = {"timeout": 60}


def values(plan: Plan, sizes: Sizes) -> Values:
    """Return the chart's values."""
    workers, pods = sizes.workers["nova"], sizes.pods["nova"]
    pod = resources(memory="256Mi", limit="1Gi", cpu=sizes.cpu(250))
    queue = [{"endpoint": "internal", "service": name} for name in ("oslo_messaging", "oslo_db", "identity")]
    own = {
        "network": {
            "backend": ["ovn"],
            "metadata": {"node_port": {"enabled": True, "port": _port(plan, "compute-metadata")}},
            "novncproxy": {"node_port": {"enabled": True, "port": _port(plan, "compute-novnc-proxy")}},
        },
        # They work without the API; waiting for it made the longest way of the whole rollout longer. Without their
        # account they end, and Kubernetes starts them later and later.
        "dependencies": {"static": {name: {"services": queue, "jobs": _JOBS} for name in ("conductor", "scheduler")}},
        "conf": merge(
            queued("nova"),
            {
                "ceph": {"enabled": False},
                "nova": {
                    "DEFAULT": {
                        "osapi_compute_workers": workers, "metadata_workers": workers,
                        "enable_new_services": False,  # until an instance on it answered (hypervisor_probe)
                    },
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
                **probes("api-metadata", "default", patience=60),
                **probes("novncproxy", "default", patience=60),
                **{name: {"default": _queued()} for name in ("conductor", "scheduler")},
            },
            "resources": dict.fromkeys(_OTHERS, pod),
        },
        "extraObjects": {"novncproxy_vencrypt": _vencrypt()},
        # What only hypervisors in Kubernetes need, and what would wait for one for ever (cells are mapped by db-sync,
        # hosts are found when they join).
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
    return merge(merge(shared, own), _disks(plan))


def _disks(plan: Plan) -> Values:
    """Return where disks of instances are in Ceph; which hypervisors have them there their hardware says."""
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
    """Return whether a site deploys the console's proxy, which charts do unless a value says no."""
    releases = (one.values for one in plan.openstack.releases if one.name == SERVICE.name)
    return any(one.get("manifests", {}).get("deployment_novncproxy", True) for one in releases)


def _vencrypt() -> Values:
    """Return the console proxy's options: it speaks to no hypervisor but with TLS, and shows a certificate."""
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
    """Return what hypervisors' consoles are shown."""
    return (PodCertificate(user="nova-novncproxy", secret=_VENCRYPT, usage="client"),)


def _port(plan: Plan, type_: str) -> int:
    return public_endpoint(plan, "nova", type_).node_port


def _queued() -> Values:
    """Return probes of what only talks to the queue: ready while it does; a restart would not bring the queue back."""
    params = {"initialDelaySeconds": 5, "periodSeconds": 15, "timeoutSeconds": 10}
    return {"readiness": {"enabled": True, "params": params}, "liveness": {"enabled": False}}


def verify(context: VerifierContext) -> Verification:
    """Return whether scheduler and conductor report in a mapped cell, and servers are listed where the catalog says."""
    return probed(context, "nova", _ask, headers=_VERSION)


def _ask(client: Client) -> Iterator[Check]:
    services = (client.call("GET", "/os-services").body or {}).get("services") or ()
    yield judge_cells(services)
    yield judge_services(services)
    # A list of servers asks every cell.
    listed = [entry["url"].rstrip("/") for entry in client.token.catalog if entry["type"] == "compute"]
    if not listed:
        yield Check(name="servers", ok=False, detail="the catalog has no compute endpoint", object=_API)
        return
    servers = client.at(listed[0]).call("GET", "/servers/detail?all_tenants=1&limit=20").body or {}
    yield judge_servers(servers, url=listed[0])
    yield given(client.context, _VENCRYPT, owner="Deployment/nova-novncproxy")


def judge_cells(services: Sequence[Mapping[str, Any]]) -> Check:
    """Return whether the cell is mapped that all services report in: the API finds them by the mapping only."""
    detail = (
        f"mapped, {len(services)} services report in it" if services else "none is mapped, or nothing reports in it"
    )
    return Check(name="cells", ok=bool(services), detail=detail, layer="database", object="Job/nova-db-sync")


def judge_services(services: Iterable[Mapping[str, Any]]) -> Check:
    """Return whether each service of the control plane is up somewhere. Computes are their own layer's business."""
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
    """Return whether servers were listed, and every cell had its say."""
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
        "cinder": "for calls to Cinder",  # OpenStack-Helm's chart makes it, with a password everyone knows
        "service": "whose token goes along with a tenant's",
    },
    slowness=2.0,  # three schemas, and the longest start of all
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
            port_name="metadata", in_catalog=False,
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
    workers=WORKERS,
    values=values,
    dialect=dialects.nova,
    verify=verify,
)  # fmt: skip
