"""The way back from an upgrade of Kubernetes: the former version in the site file, while no part has the other one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...module_utils._base.text import few
from ..errors import GroundupError
from ..kube.client import Api
from ..kube.types import resource_path
from ..plan.types import Plan
from .journal import KUBERNETES, Upgrade
from .nodes import is_ours
from .steps import Version
from .survey import FoundCluster, tag

_RECORD = resource_path("v1", "configmaps", namespace="kube-system", name="kubeadm-config")
_RECORDED = re.compile(r"^kubernetesVersion: *(\S+)", re.MULTILINE)
_ON_EVERY_NODE = "/usr/local/bin/"


def require_former(
    plan: Plan, api: Api, found: FoundCluster, opened: Upgrade, *, seen: Mapping[str, Mapping[str, Any]]
) -> None:
    """Require that no part has a newer version than the former, nor may have. Raises GroundupError, ApiError.

    ``plan``: by the former version; ``seen``: what hosts said of themselves.
    """
    new = [*_new(plan, api, found, opened), *_on_hosts(plan, opened, seen)]
    if new:
        raise GroundupError(
            f"the upgrade from {opened.source} to {opened.target} does not go back: {few(new)}",
            where=f"{KUBERNETES.setting} of the site file, which says {plan.kubernetes.version}",
            why="a cluster never goes back: the former version may not read what the newer one wrote",
            remedy=f"mend what does not answer, and run this again. Of what is newer: set {KUBERNETES.setting} to "
            f"{opened.target}, and run this again{KUBERNETES.back}",
        )


def _new(plan: Plan, api: Api, found: FoundCluster, opened: Upgrade) -> Iterator[str]:
    """Yield what the cluster says is newer, or does not say."""
    runs, limit = found.versions, Version.of(opened.source)
    if opened.live != opened.source:
        yield f"every API server had {opened.target}"
    control = {name for name, host in plan.hosts.items() if "control" in host.roles}
    for host in sorted(control | runs.servers.keys()):
        newest = max(runs.control(host)) if host in runs.servers else None
        yield from _newer(f"the control plane of {host}", newest, limit)
    for host, image in sorted(found.etcd.items()):
        yield from _newer(f"etcd of {host}", Version.of(tag(image)), _image(plan, "etcd"))
    for host, node in sorted(found.nodes.items()):
        yield from _newer(f"the kubelet of {host}", runs.kubelets.get(host), limit)
        if is_ours(node):
            yield f"{host} takes no pods: the step of its kubelet had begun"
    if runs.proxy:
        yield from _newer("kube-proxy", runs.proxy, limit)
    if runs.dns:
        yield from _newer("CoreDNS", runs.dns, _image(plan, "coredns"))
    text = ((api.find(_RECORD) or {}).get("data") or {}).get("ClusterConfiguration", "")
    said = _RECORDED.search(text)
    yield from _newer("ConfigMap kubeadm-config", Version.of(said[1]) if said else None, limit)


def _on_hosts(plan: Plan, opened: Upgrade, seen: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield which files of hosts are newer, or not known: a step changes some before anything restarts."""
    for host in sorted(name for name, one in plan.hosts.items() if one.node_labels):
        told = seen.get(host) or {}
        if told.get("unreachable") or "versions" not in told:
            yield f"{host} does not answer: {told.get('msg', 'it was not asked')}"
            continue
        for path, text in told["versions"].items():
            if text or path.startswith(_ON_EVERY_NODE) or "control" in plan.hosts[host].roles:
                limit = _image(plan, "etcd") if path.endswith("/etcd.yaml") else Version.of(opened.source)
                yield from _newer(f"{path} of {host}", Version.of(tag(text)), limit)


def _newer(what: str, version: Version | None, limit: Version | None) -> Iterator[str]:
    if not version or not limit:
        yield f"the version of {what} is not known"
    elif version > limit:
        yield f"{what} is {version}"


def _image(plan: Plan, name: str) -> Version | None:
    """Return the version of an image beside the former version."""
    return Version.of(tag(plan.supply.images.get(name, "")))
