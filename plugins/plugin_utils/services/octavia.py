"""Octavia: load balancers by OVN, in every hypervisor's Open vSwitch, without amphora machines."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..health.verification import Check
from . import ovn
from .parts import WORKERS, ChartNames, api_values, merge, public_endpoint, queued, resources, uwsgi
from .probing import PROBE, Client, forgotten, probe
from .record import PublicApi, ServiceRecord, Values
from .secrets import account
from .sizes import Sizes

if TYPE_CHECKING:
    from ..plan.types import Plan

_OBJECT = "Deployment/octavia-api"
_PROVIDER = "ovn"
_TLS = "/etc/octavia/ovn"
_SOCKETS = "/var/run/octavia"  # fixed in octavia-lib, with which drivers report a balancer's state
_NAMES = ChartNames(probes=("api", "octavia-api"), labels=("api", "housekeeping", "job"))
_NETWORK = f"{PROBE}-octavia"  # differs from Neutron's verifier, which removes its own
_CIDR = "192.0.2.0/24"  # reserved for documentation (RFC 5737)
_PATIENCE = 60.0  # seconds for a balancer; usually three
_PAUSE = 1.0


def values(plan: Plan, sizes: Sizes) -> Values:
    """Return the chart's values.

    OVN's driver runs in the API, and reports to the driver agent by sockets. So an agent runs in each API pod, as a
    child of its uWSGI. The charts' own agent is a separate pod, whose sockets the API cannot reach.
    """
    sockets = {"name": "driver-agent", "emptyDir": {}}
    at = {"name": "driver-agent", "mountPath": _SOCKETS}
    waits = [{"endpoint": "internal", "service": name} for name in ("oslo_db", "identity", "network")]
    jobs = ["octavia-db-sync", "octavia-ks-user", "octavia-ks-endpoints"]
    place = {"project_name": "service", "user_domain_name": "service", "project_domain_name": "service"}
    own = {
        "conf": merge(
            queued("octavia"),
            {
                "octavia": {
                    "api_settings": {
                        "api_base_uri": public_endpoint(plan, "octavia").url,
                        "enabled_provider_drivers": f"{_PROVIDER}:TCP UDP and SCTP on every hypervisor",
                        "default_provider_driver": _PROVIDER,
                        "allow_tls_terminated_listeners": False,  # OVN does not inspect connections
                    },
                    "driver_agent": {"enabled_provider_agents": _PROVIDER},
                    "ovn": ovn.connection(plan.ovn, _TLS),
                    # The charts' default is the administrator's account.
                    "service_auth": {**account("octavia", "octavia/keystone"), **place},
                    "neutron": {"region_name": plan.openstack.region, "valid_interfaces": "internal"},
                    "controller_worker": {f"{kind}_driver": f"{kind}_noop_driver" for kind in ("amphora", "compute")},
                    "oslo_middleware": {"enable_proxy_headers_parsing": True},
                    "task_flow": {"jobboard_enabled": False},
                },
                "octavia_api_uwsgi": uwsgi(sizes.workers["octavia"], **{"attach-daemon": "octavia-driver-agent"}),
            },
        ),
        "dependencies": {
            "static": {
                "api": {"jobs": jobs, "services": waits},
                "housekeeping": {"jobs": jobs, "services": waits},
            }
        },
        "pod": {
            "mounts": {
                "octavia_api": {
                    "octavia_api": {
                        "volumes": [ovn.volume(), sockets],
                        "volumeMounts": [ovn.mount(_TLS), at],
                    }
                }
            },
            "replicas": {"housekeeping": 1},
            "resources": {"housekeeping": resources(memory="128Mi", limit="1Gi", cpu=sizes.cpu(50))},
        },
        # No special roles are needed: Keystone's roles member and reader have their usual rights.
        "manifests": {
            "daemonset_health_manager": False,
            "daemonset_worker": False,
            "deployment_driver_agent": False,
            "job_bootstrap": False,
            "job_rabbit_init": False,
            "pod_rally_test": False,
            "secret_rabbitmq": False,
        },
    }
    return merge(api_values(plan, sizes, "octavia", memory="512Mi", limit="2Gi", cpu=250, names=_NAMES), own)


def _ask(client: Client) -> Iterator[Check]:
    """Verify that OVN's driver is loaded, and a balancer on a test network becomes active and can be deleted."""
    found = ask_provider(client)
    yield found
    if not found.ok:
        return
    neutron = client.at(public_endpoint(client.context.plan, "neutron").url.rstrip("/") + "/v2.0")
    _tidy(client, neutron)
    network = (neutron.call("POST", "/networks", body={"network": {"name": _NETWORK}}, good=201).body or {})["network"]
    wanted = {"name": _NETWORK, "network_id": network["id"], "ip_version": 4, "cidr": _CIDR}
    path, made, gone = "", dict[str, Any](), False
    try:
        subnet = (neutron.call("POST", "/subnets", body={"subnet": wanted}, good=201).body or {})["subnet"]
        balancer = {"name": PROBE, "vip_subnet_id": subnet["id"], "provider": _PROVIDER}
        answer = client.call("POST", "/loadbalancers", body={"loadbalancer": balancer}, good=201).body or {}
        path = f"/loadbalancers/{answer['loadbalancer']['id']}"
        made = _settled(client, path)
    finally:
        if path:
            gone = _delete(client, path)
        if gone or not path:
            neutron.gone(f"/networks/{network['id']}")
    yield judge_balancer(made, gone=gone)


def _tidy(client: Client, neutron: Client) -> None:
    """Remove the objects of a killed run. Octavia refuses to delete a balancer that it is still changing."""
    now = datetime.datetime.now(datetime.UTC)
    for left in (client.call("GET", f"/loadbalancers?name={PROBE}").body or {}).get("loadbalancers") or ():
        if forgotten(left, now=now) and not str(left["provisioning_status"]).startswith("PENDING_"):
            _delete(client, f"/loadbalancers/{left['id']}")
    for left in (neutron.call("GET", f"/networks?name={_NETWORK}").body or {}).get("networks") or ():
        ports = (neutron.call("GET", f"/ports?network_id={left['id']}").body or {}).get("ports") or ()
        # OVN's own metadata port of each network is deleted with the network.
        others = [port for port in ports if port["device_owner"] != "network:distributed"]
        if not others and forgotten({**left, "name": PROBE}, now=now):
            neutron.gone(f"/networks/{left['id']}")


def _settled(client: Client, path: str) -> dict[str, Any]:
    """Return a balancer once no operation is in progress, or after a timeout; {}: it is deleted."""
    end = time.monotonic() + _PATIENCE
    while True:
        listed = client.call("GET", f"/loadbalancers?name={PROBE}").body or {}
        found: dict[str, Any] = next((one for one in listed["loadbalancers"] if path.endswith(str(one["id"]))), {})
        if not str(found.get("provisioning_status")).startswith("PENDING_") or time.monotonic() > end:
            return dict(found)
        time.sleep(_PAUSE)


def _delete(client: Client, path: str) -> bool:
    """Delete a balancer and its children; return whether it is gone, and its address with it."""
    client.gone(f"{path}?cascade=true")
    return not _settled(client, path)


def ask_provider(client: Client) -> Check:
    """Check that the API has OVN's driver."""
    named = (client.call("GET", "/providers").body or {}).get("providers") or ()
    return judge_provider([str(one.get("name")) for one in named])


def judge_provider(names: list[str]) -> Check:
    """Check that the driver is loaded: an API that found no OVN at its start runs without it until a restart."""
    ok = _PROVIDER in names
    said = "OVN's driver is loaded" if ok else "OVN's driver was given up when the API started: see its log, restart it"
    return Check(name="provider", ok=ok, detail=said, layer="network", object=_OBJECT)


def judge_balancer(made: Mapping[str, Any], *, gone: bool) -> Check:
    """Check that a balancer became active with an address, and is finally ``gone``."""
    status = made.get("provisioning_status")
    wrong = ""
    if status != "ACTIVE":
        wrong = f"a load balancer is {status}"
    elif not made.get("vip_address"):
        wrong = "a load balancer has no address"
    elif not gone:
        wrong = "a load balancer that was deleted is still there"
    return Check(
        name="balancer", ok=not wrong, layer="network", object=_OBJECT,
        detail=wrong or f"made with address {made.get('vip_address')}, active, deleted",
    )  # fmt: skip


SERVICE = ServiceRecord(
    name="octavia",
    needs=("keystone", "neutron"),
    uses=("database", "cache"),
    optional=("queue",),  # only the worker of amphorae gets orders by the queue
    databases={"oslo_db": "octavia", "oslo_db_persistence": "octavia_persistence"},
    layer="network",
    api=PublicApi(type="load-balancer", host="load-balancer", health="/healthcheck", port=9876, node_port=30826),
    images=dict.fromkeys(("octavia_api", "octavia_db_sync", "octavia_housekeeping"), "openstack-more"),
    workers=WORKERS,
    values=values,
    verify=probe("octavia", _ask, path="/v2/lbaas"),
)
