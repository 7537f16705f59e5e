"""Whether the cluster serves: asked of the cluster itself, through the virtual IP, and of a pod.

The probe: a Service is pointed at CoreDNS's health port on one node; a pod on another node calls it by name. That takes
the cluster's DNS, kube-proxy's rules and the pod network between two nodes, and no image the node does not have.
"""

from __future__ import annotations

import datetime
import http
import secrets
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...module_utils._kubeadm.api import Api, ApiError, message
from ..errors import GroundupError
from .access import Access
from .nodes import not_ready

NAMESPACE = "kube-system"
LABEL = "groundup.cloud/probe"
HEALTH_PORT = 8080  # CoreDNS, plugin health
PORT = 80  # of the probe's Service: not the pod's, so that only kube-proxy can get there
EXPIRY_FAILS, EXPIRY_WARNS = 7, 30  # days
# Seconds of the probe's time that its pod may take to start. The rest is what CoreDNS may need to know a new name: it
# comes back to an API server that was away after up to a minute, and keeps for half a minute that a name is unknown.
START = 30.0
LEFT = 1800.0  # seconds after which nobody waits for a probe any more
# bash opens the connection itself: no tool is needed in the image. The name ends in a dot: no search path helps it. A
# connection that is lost while it writes is one more that failed, and not the end.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was seen."""

    nodes: int
    probe: str  # "worker-1 -> Service -> control-1", or why there was none
    certificate_days: int  # of the API server's certificate, as it serves it
    warnings: tuple[str, ...]


def verify(
    access: Access,
    *,
    server: str,
    nodes: tuple[str, ...],
    dns_domain: str,
    image: str,
    storage_class: str,
    timeout: float,
) -> Report:
    """Ask whether the cluster serves.

    Args:
        access: the admin kubeconfig.
        server: https URL the API must answer at: that of the virtual IP.
        nodes: names that must be nodes, and Ready.
        dns_domain: domain of the cluster's Services.
        image: an image every node has, with bash.
        storage_class: name of the default storage class.
        timeout: seconds for the nodes, the DNS and the probe, each.

    Raises:
        GroundupError: what does not serve, with the layer's own words.
        ApiError: the API stopped answering.
    """
    if access.server != server:
        raise _error(
            f"the kubeconfig speaks to {access.server}, the site's endpoint is {server}",
            "the kubeconfig in the site's state directory",
            "what is verified must be what is served",
            "run the playbook groundup.cloud.kubernetes: it writes the kubeconfig anew",
        )
    with access.connect(timeout=15) as api:
        _ready(api, server, timeout=timeout)
        warnings, days = _certificate(api, server)
        _nodes(api, nodes, timeout=timeout)
        _storage(api, storage_class)
        target = _dns(api, timeout=timeout)
        probe = _probe(api, target, dns_domain=dns_domain, image=image, timeout=timeout)
    return Report(nodes=len(nodes), probe=probe, certificate_days=days, warnings=warnings)


def _error(what: str, where: str, why: str, remedy: str) -> GroundupError:
    return GroundupError(what, where=where, why=why, remedy=remedy)


def _ready(api: Api, server: str, *, timeout: float) -> None:
    until = time.monotonic() + timeout
    while True:
        try:
            status, text = api.raw("GET", "/readyz?verbose")
            if status == http.HTTPStatus.OK:
                return
            failing = "; ".join(line for line in text.splitlines() if line.startswith("[-]")) or f"HTTP {status}"
        except ApiError as error:
            failing = str(error)
        if time.monotonic() > until:
            raise _error(
                f"the API is not ready: {failing}",
                f"{server}/readyz, through the virtual IP",
                "every layer above speaks to the cluster by this address",
                "playbook groundup.cloud.kubernetes with tag verify checks the edge; crictl ps -a on a control host",
            )
        time.sleep(0.5)


def _certificate(api: Api, server: str) -> tuple[tuple[str, ...], int]:
    peer = api.peer_certificate()
    days = int((ssl.cert_time_to_seconds(peer["notAfter"]) - time.time()) // 86400)
    text = f"the API server's certificate ends in {days} days"
    if days < EXPIRY_FAILS:
        raise _error(
            text, server, "the cluster stops with it", "run the playbook groundup.cloud.kubernetes: it renews them"
        )
    return ((text,) if days < EXPIRY_WARNS else ()), days


def _nodes(api: Api, names: tuple[str, ...], *, timeout: float) -> None:
    until = time.monotonic() + timeout
    while True:
        items = api.request("GET", "/api/v1/nodes")["items"]
        missing = sorted(set(names) - {node["metadata"]["name"] for node in items})
        reasons = not_ready(items)
        if not missing and not reasons:
            return
        if time.monotonic() > until:
            listing = [f"{name}: not a node" for name in missing] + [f"{k}: {v}" for k, v in sorted(reasons.items())]
            raise _error(
                "nodes not Ready: " + "; ".join(listing),
                "the cluster's nodes",
                "no layer above starts on a node that is not Ready",
                "kubectl describe node NAME; journalctl -u kubelet -u containerd on the host",
            )
        time.sleep(0.5)


def _storage(api: Api, name: str) -> None:
    if api.get(f"/apis/storage.k8s.io/v1/storageclasses/{name}") is None:
        raise _error(
            f"there is no storage class {name}",
            f"StorageClass {name}",
            "every database of the cloud asks for it by name",
            "run the playbook groundup.cloud.kubernetes, or that of the storage layer",
        )


def _dns(api: Api, *, timeout: float) -> Mapping[str, Any]:
    """Return a CoreDNS pod that serves."""
    until = time.monotonic() + timeout
    while True:
        pods = api.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=k8s-app%3Dkube-dns")["items"]
        for pod in pods:
            conditions = pod.get("status", {}).get("conditions", [])
            if any(c["type"] == "Ready" and c["status"] == "True" for c in conditions):
                ready: Mapping[str, Any] = pod
                return ready
        if time.monotonic() > until:
            raise _error(
                f"no CoreDNS pod is Ready: {', '.join(_why(pod) for pod in pods) or 'there is none'}",
                f"Deployment {NAMESPACE}/coredns",
                "no pod finds a Service by name without it",
                f"kubectl -n {NAMESPACE} describe pods -l k8s-app=kube-dns",
            )
        time.sleep(0.5)


def _why(pod: Mapping[str, Any]) -> str:
    states = pod.get("status", {}).get("containerStatuses", [])
    reasons = [s["state"]["waiting"]["reason"] for s in states if "waiting" in s.get("state", {})]
    return f"{pod['metadata']['name']} {pod.get('status', {}).get('phase', '?')} {' '.join(reasons)}".strip()


def _probe(api: Api, target: Mapping[str, Any], *, dns_domain: str, image: str, timeout: float) -> str:
    name = f"groundup-probe-{secrets.token_hex(3)}"
    base = f"/api/v1/namespaces/{NAMESPACE}"
    slices = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
    elsewhere = target["spec"]["nodeName"]
    _clean(api, base, slices)  # what a killed run left
    try:
        api.request("POST", f"{base}/services", service(name))
        api.request("POST", slices, endpoints(name, target))
        several = len(api.request("GET", "/api/v1/nodes")["items"]) > 1
        host = f"{name}.{NAMESPACE}.svc.{dns_domain}."
        other = elsewhere if several else None
        pod = client(name, host=host, image=image, not_on=other, patience=max(timeout / 2, timeout - START))
        api.request("POST", f"{base}/pods", pod)
        until = time.monotonic() + timeout
        while True:
            pod = api.request("GET", f"{base}/pods/{name}")
            phase, where = pod["status"].get("phase"), pod["spec"].get("nodeName", "no node")
            if phase == "Succeeded":
                return f"{where} -> {host} -> {elsewhere}"
            if phase == "Failed" or time.monotonic() > until:
                break
            time.sleep(0.3)
        raise _error(
            f"a pod on {where} does not reach a Service on {elsewhere} by name: {_said(api, base, pod)}",
            f"{host}:{PORT}, pod {target['metadata']['name']} on {elsewhere}",
            "the cluster's DNS, kube-proxy or the pod network between the nodes does not work",
            "a name that does not resolve: CoreDNS; a refused or lost connection: kube-proxy or the pod network's pods",
        )
    finally:
        _clean(api, base, slices, own=name)


def _said(api: Api, base: str, pod: Mapping[str, Any]) -> str:
    """Return the end of a pod's log; when there is none, how the pod is and why."""
    try:
        status, text = api.raw("GET", f"{base}/pods/{pod['metadata']['name']}/log?tailLines=3")
    except ApiError as error:
        return f"{_why(pod)}, and its log cannot be read: {error}"
    if status != http.HTTPStatus.OK:
        return f"{_why(pod)}, and its log cannot be read: {message(text, status)}"
    return text.strip() or f"{_why(pod)}, and its log is empty"


def _clean(api: Api, base: str, slices: str, *, own: str | None = None) -> None:
    """Remove the probe ``own``; without a name those that are left from long ago.

    Never a younger one: another run, also one from another controller, may wait for it.
    """
    for place in (f"{base}/pods", slices, f"{base}/services"):
        for item in api.request("GET", f"{place}?labelSelector={LABEL.replace('/', '%2F')}")["items"]:
            name = item["metadata"]["name"]
            if name == own or (own is None and _age(item) > LEFT):
                try:
                    api.request("DELETE", f"{place}/{name}?gracePeriodSeconds=0")
                except ApiError as error:
                    if error.status != http.HTTPStatus.NOT_FOUND:  # two runs may remove the same
                        raise


def _age(item: Mapping[str, Any]) -> float:
    made = datetime.datetime.fromisoformat(item["metadata"]["creationTimestamp"])
    return (datetime.datetime.now(datetime.UTC) - made).total_seconds()


def service(name: str) -> dict[str, Any]:
    """Return the probe's Service: without a selector, so that it points where the probe says."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": {LABEL: "true"}},
        "spec": {"ports": [{"name": "probe", "port": PORT, "targetPort": HEALTH_PORT}]},
    }


def endpoints(name: str, target: Mapping[str, Any]) -> dict[str, Any]:
    """Return where the probe's Service points: the pod ``target``."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "labels": {LABEL: "true", "kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "ports": [{"name": "probe", "port": HEALTH_PORT, "protocol": "TCP"}],
        "endpoints": [{"addresses": [target["status"]["podIP"]], "conditions": {"ready": True}}],
    }


def client(name: str, *, host: str, image: str, not_on: str | None, patience: float) -> dict[str, Any]:
    """Return the pod that calls ``host`` for ``patience`` seconds, on any node but ``not_on``."""
    environment = {"NAME": host, "PORT": str(PORT), "PATIENCE": f"{patience:.0f}"}
    other = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": [not_on]}
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
