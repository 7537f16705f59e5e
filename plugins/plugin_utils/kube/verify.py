"""Verify the cluster: its API through the virtual IP, nodes, storage class, policies, DNS, and a probe of its way."""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...module_utils._base.wait import wait_until
from ..errors import GroundupError
from . import expiry
from .client import Api, ApiError
from .nodes import SeenNodes, wait_ready
from .probe import NAMESPACE, PODS, probe, state_of
from .types import Object, resource_path
from .workloads import is_ready

EXPIRY_FAILS = 7  # days
TIMEOUT = 120.0  # seconds of each check: after an outage of the API the cluster's DNS needs most of it
_ENFORCERS = resource_path("v1", "pods", namespace="kube-flannel")
_DNS = resource_path("apps/v1", "deployments", namespace=NAMESPACE, name="coredns")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterReport:
    """Results of the verification."""

    nodes: int  # that are Ready
    probe: str  # "worker-1 -> Service -> control-1"
    certificate_days: int  # of the API server's certificate, as it serves it
    warnings: tuple[str, ...]


def verify(
    kubeconfig: Path,
    *,
    server: str,
    nodes: tuple[str, ...],
    site: str,
    spare: frozenset[str] = frozenset(),
    known: frozenset[str] = frozenset(),
    dns_domain: str,
    image: str,
    storage_class: str | None,
    kube_router: bool,
    certificates: Mapping[str, Mapping[str, int]],
    certificate_days: int,
    edge: str | None,
    timeout: float = TIMEOUT,
) -> tuple[ClusterReport, SeenNodes]:
    """Verify the cluster; return its report and its nodes.

    ``server``: URL of the virtual IP. Of ``nodes``, which must be Ready, ``spare`` are only reported when they are not;
    ``known``: the site's other nodes. ``image``: one that every node has, with bash. ``storage_class``: None where a
    later layer makes it. ``kube_router``: whether it enforces NetworkPolicies, beside a pod network that does not.
    ``certificates``: days left by control host and file; fewer than ``certificate_days`` are a warning. ``edge``:
    address of the public names. ``timeout``: for the nodes, the DNS and the probe, each.

    Raises GroundupError when a part does not work, ApiError when the API stopped answering.
    """
    api = Api(kubeconfig, timeout=15.0)
    if api.server != server:
        raise GroundupError(
            f"the kubeconfig speaks to {api.server}, the site's endpoint is {server}",
            where="the kubeconfig in the site's state directory",
            why="what is verified must be what is served",
            remedy="run the playbook groundup.cloud.kubernetes: it writes the kubeconfig anew",
        )
    _ready(api, timeout=timeout)
    days = _certificate(api)
    of_site = {f"the API server's certificate at {api.server}": days} | expiry.days_of_site(site, edge=edge)
    warnings = expiry.soon(certificates, of_site, warn_below=certificate_days, fail_below=EXPIRY_FAILS)
    found = wait_ready(api, nodes, timeout=timeout, spare=spare, known=known)
    if storage_class and api.find(f"/apis/storage.k8s.io/v1/storageclasses/{storage_class}") is None:
        raise GroundupError(
            f"there is no storage class {storage_class}",
            where=f"StorageClass {storage_class}",
            why="every database of the cloud asks for it by name",
            remedy="run the playbook groundup.cloud.kubernetes, or that of the storage layer",
        )
    if kube_router:
        _walls(api, [name for name in nodes if name not in found.away], timeout=timeout)
    seen = probe(api, _dns(api, timeout=timeout), dns_domain=dns_domain, image=image, timeout=timeout)
    ready = len(nodes) - len(found.away)
    return ClusterReport(nodes=ready, probe=seen, certificate_days=days, warnings=warnings), found


def _ready(api: Api, *, timeout: float) -> None:
    def failing() -> str:
        try:
            api.text("/readyz", verbose="")
        except ApiError as error:
            return "; ".join(line for line in error.message.splitlines() if line.startswith("[-]")) or error.message
        return ""

    if why := wait_until(failing, timeout=timeout):
        raise GroundupError(
            f"the API is not ready: {why}",
            where=f"{api.server}/readyz, through the virtual IP",
            why="every layer above speaks to the cluster by this address",
            remedy="playbook groundup.cloud.kubernetes with tag verify checks the edge; crictl ps -a on a control host",
        )


def _walls(api: Api, nodes: Sequence[str], *, timeout: float) -> None:
    """Refuse nodes on which no kube-router has written the rules of NetworkPolicies. Raises ApiError."""

    def without() -> list[str]:
        pods = api.get(_ENFORCERS, labelSelector="app=kube-router")["items"]
        walled = {pod["spec"].get("nodeName") for pod in pods if is_ready(pod)}
        return [name for name in nodes if name not in walled]

    if missing := wait_until(without, timeout=timeout):
        raise GroundupError(
            f"NetworkPolicies are not enforced on {', '.join(missing)}",
            where="DaemonSet kube-flannel/kube-router: no pod of it is ready there",
            why="every pod could connect to the pods there, or nobody to new ones",
            remedy="run the playbook groundup.cloud.kubernetes; if it is there: kubectl -n kube-flannel logs -l "
            "app=kube-router --prefix (the node's kernel needs ipset and nftables)",
        )


def _certificate(api: Api) -> int:
    """Return the days left of the API server's certificate. Raises ApiError."""
    return int((ssl.cert_time_to_seconds(api.peer_certificate()["notAfter"]) - time.time()) // 86400)


def _dns(api: Api, *, timeout: float) -> Object:
    """Return a Ready CoreDNS pod that stays: a first run replaces the pods of kubeadm, so wait until it settles."""
    pods: list[Object] = []

    def unsettled() -> bool:
        deployment = api.get(_DNS)  # read before its pods: once it has settled, no Ready pod is about to go
        status = deployment.get("status", {})
        settled = status.get("observedGeneration") == deployment["metadata"]["generation"] and (
            status.get("updatedReplicas") == status.get("replicas")
        )
        found = api.get(PODS, labelSelector="k8s-app=kube-dns")["items"]
        pods[:] = [pod for pod in found if not pod["metadata"].get("deletionTimestamp")]
        return not settled or not any(map(is_ready, pods))

    if wait_until(unsettled, timeout=timeout):
        raise GroundupError(
            f"CoreDNS does not serve: {', '.join(map(state_of, pods)) or 'it has no pod'}",
            where=f"Deployment {NAMESPACE}/coredns",
            why="no pod finds a Service by name without it, and pods on their way out are not counted",
            remedy=f"kubectl -n {NAMESPACE} describe pods -l k8s-app=kube-dns",
        )
    return next(filter(is_ready, pods))
