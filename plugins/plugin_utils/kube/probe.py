"""Probe the cluster: a pod on one node calls a Service on another by name.

The Service points at CoreDNS's health port on one node; the pod runs on another. That tests the cluster's DNS,
kube-proxy's rules and the pod network between two nodes, with an image that the node already has.
"""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Mapping
from typing import Any

from ...module_utils._base.wait import wait_until
from ..errors import GroundupError
from .client import Api, ApiError
from .nodes import NODES
from .types import Object, resource_path
from .workloads import container_statuses, is_ready, waiting_reason

NAMESPACE = "kube-system"
LABEL = "groundup.cloud/probe"
HEALTH_PORT = 8080  # CoreDNS, plugin health
PORT = 80  # of the probe's Service: not the pod's, so only kube-proxy leads there
PODS = resource_path("v1", "pods", namespace=NAMESPACE)
_SERVICES = resource_path("v1", "services", namespace=NAMESPACE)
_SLICES = resource_path("discovery.k8s.io/v1", "endpointslices", namespace=NAMESPACE)
# Seconds of the timeout for the pod to start. The rest is for CoreDNS to learn the new name: it reconnects to an API
# server that was away after up to a minute, and caches unknown names for half a minute.
START = 30.0
LEFT = 1800.0  # seconds after which a probe is abandoned
# bash opens the connection itself: the image needs no tool. The name ends in a dot: no search path is used. A
# connection lost while writing is one more failed try, not the end: hence the trap.
SCRIPT = """\
set -u
trap '' PIPE
while [ "$SECONDS" -lt "$PATIENCE" ]; do
  if exec 3<>"/dev/tcp/$NAME/$PORT"; then
    printf 'GET /health HTTP/1.0\\r\\nHost: probe\\r\\n\\r\\n' >&3
    if IFS= read -r -t 5 line <&3; then echo "answer: $line"; case $line in *200*) exit 0;; esac; fi
    exec 3>&- 3<&-
  fi
  sleep 1
done 2>&1
exit 1
"""


def probe(api: Api, target: Object, *, dns_domain: str, image: str, timeout: float) -> str:
    """Call the pod ``target`` from another node; return the path taken. Raises GroundupError, ApiError."""
    name = f"groundup-probe-{secrets.token_hex(3)}"
    elsewhere = target["spec"]["nodeName"]
    _clean(api)  # what a killed run left
    try:
        api.request("POST", _SERVICES, body=service(name))
        api.request("POST", _SLICES, body=endpoints(name, target))
        nodes = {node["metadata"]["name"]: is_ready(node) for node in api.get(NODES)["items"]}
        others = [node for node, ready in nodes.items() if ready and node != elsewhere]
        host = f"{name}.{NAMESPACE}.svc.{dns_domain}."
        other = [elsewhere, *(node for node, ready in nodes.items() if not ready)] if others else []
        patience = max(timeout / 2, timeout - START)
        api.request("POST", PODS, body=client(name, host=host, image=image, not_on=other, patience=patience))
        pod: Object = {}

        def under_way() -> bool:
            pod.update(api.get(f"{PODS}/{name}"))
            return pod["status"].get("phase") not in ("Succeeded", "Failed")

        wait_until(under_way, timeout=timeout, pause=0.3)
        where = pod["spec"].get("nodeName", "no node")
        if pod["status"].get("phase") == "Succeeded":
            return f"{where} -> {host} -> {elsewhere}"
        raise GroundupError(
            f"a pod on {where} does not reach a Service on {elsewhere} by name: {_said(api, pod)}",
            where=f"{host}:{PORT}, pod {target['metadata']['name']} on {elsewhere}",
            why="the cluster's DNS, kube-proxy or the pod network between the nodes does not work",
            remedy="a name that does not resolve: CoreDNS; a refused or lost connection: kube-proxy or the pod "
            "network's pods",
        )
    finally:
        _clean(api, own=name)


def state_of(pod: Mapping[str, Any]) -> str:
    """Return a pod's name, phase and why its containers wait."""
    reasons = filter(None, map(waiting_reason, container_statuses(dict(pod))))
    return " ".join([pod["metadata"]["name"], pod.get("status", {}).get("phase", "?"), *reasons])


def _said(api: Api, pod: Object) -> str:
    """Return the end of a pod's log, or the pod's state when there is none."""
    try:
        text = api.text(f"{PODS}/{pod['metadata']['name']}/log", tailLines="3")
    except ApiError as error:
        return f"{state_of(pod)}, and its log cannot be read: {error.message}"
    return text.strip() or f"{state_of(pod)}, and its log is empty"


def _clean(api: Api, *, own: str | None = None) -> None:
    """Delete the probe ``own``; without a name, all probes older than `LEFT`.

    Younger ones stay: another run, also from another controller, may wait for them.
    """
    for place in (PODS, _SLICES, _SERVICES):
        for item in api.get(place, labelSelector=LABEL)["items"]:
            name = item["metadata"]["name"]
            if name == own or (own is None and _age(item) > LEFT):
                api.delete(f"{place}/{name}", gracePeriodSeconds="0")


def _age(item: Object) -> float:
    made = datetime.datetime.fromisoformat(item["metadata"]["creationTimestamp"])
    return (datetime.datetime.now(datetime.UTC) - made).total_seconds()


def service(name: str) -> dict[str, Any]:
    """Return the probe's Service: without a selector, because `endpoints` sets its target."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": {LABEL: "true"}},
        "spec": {"ports": [{"name": "probe", "port": PORT, "targetPort": HEALTH_PORT}]},
    }


def endpoints(name: str, target: Mapping[str, Any]) -> dict[str, Any]:
    """Return the EndpointSlice that points the probe's Service at the pod ``target``."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "labels": {LABEL: "true", "kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "ports": [{"name": "probe", "port": HEALTH_PORT, "protocol": "TCP"}],
        "endpoints": [{"addresses": [target["status"]["podIP"]], "conditions": {"ready": True}}],
    }


def client(name: str, *, host: str, image: str, not_on: list[str], patience: float) -> dict[str, Any]:
    """Return the pod that calls ``host`` for ``patience`` seconds, on any node except ``not_on``.

    It tolerates every taint, also of nodes that are not Ready: list such nodes in ``not_on``.
    """
    environment = {"NAME": host, "PORT": str(PORT), "PATIENCE": f"{patience:.0f}"}
    other = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": not_on}
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [other]}]}
        }
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {LABEL: "true"}},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 1,
            "tolerations": [{"operator": "Exists"}],
            "affinity": affinity if not_on else {},
            "containers": [
                {
                    "name": "probe",
                    "image": image,
                    "command": ["bash", "-c", SCRIPT],
                    "env": [{"name": key, "value": value} for key, value in environment.items()],
                }
            ],
        },
    }
