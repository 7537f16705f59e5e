"""What a cluster runs and what an upgrade would meet, by its API."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..kube.client import Api
from ..kube.nodes import NODES
from ..kube.removal import LeavingNode
from ..kube.removal import survey as pods_of
from ..kube.types import resource_path
from ..kube.workloads import is_ready
from .steps import ClusterVersions, Version

_PODS = resource_path("v1", "pods", namespace="kube-system")
_PROXY = resource_path("apps/v1", "daemonsets", namespace="kube-system", name="kube-proxy")
_BUDGETS = resource_path("policy/v1", "poddisruptionbudgets")
_ASKED = re.compile(r"^apiserver_requested_deprecated_apis\{([^}]*)\} [1-9]", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class DeprecatedApi:
    """An API that somebody has asked for since the API server started, and that a later version does not have."""

    name: str  # "policy/v1beta1 poddisruptionbudgets"
    removed: tuple[int, int]  # in this version


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCluster:
    """A cluster before an upgrade."""

    versions: ClusterVersions
    etcd: Mapping[str, str]  # image of each control host's etcd
    away: tuple[str, ...]  # nodes that are not Ready
    leaving: Mapping[str, LeavingNode]  # of each node, its pods
    budgets: tuple[str, ...]  # PodDisruptionBudgets that allow no eviction now
    deprecated: tuple[DeprecatedApi, ...]


def survey(api: Api) -> FoundCluster:
    """Return what there is. Raises ApiError."""
    nodes = {str(node["metadata"]["name"]): node for node in api.get(NODES)["items"]}
    info = {name: node["status"]["nodeInfo"] for name, node in nodes.items()}
    proxy = api.find(_PROXY)
    return FoundCluster(
        versions=ClusterVersions(
            servers=_versions({host: tag(image) for host, image in _images(api, "kube-apiserver").items()}),
            kubelets=_versions({name: said["kubeletVersion"] for name, said in info.items()}),
            proxy=Version.of(tag(_image(proxy["spec"]["template"]))) if proxy else None,
            runtimes=_versions({
                name: said["containerRuntimeVersion"]
                for name, said in info.items()
                if said["containerRuntimeVersion"].startswith("containerd:")
            }),
        ),
        etcd=_images(api, "etcd"),
        away=tuple(sorted(name for name, node in nodes.items() if not is_ready(node))),
        leaving={name: pods_of(api, name) for name in sorted(nodes)},
        budgets=tuple(sorted(
            f"{one['metadata']['namespace']}/{one['metadata']['name']}"
            for one in api.get(_BUDGETS)["items"]
            if (status := one.get("status") or {}).get("expectedPods") and not status.get("disruptionsAllowed")
        )),
        deprecated=deprecated(api.text("/metrics")),
    )  # fmt: skip


def deprecated(metrics: str) -> tuple[DeprecatedApi, ...]:
    """Return the deprecated APIs that an API server's metrics say were asked for."""
    found = set[tuple[str, tuple[int, int]]]()
    for labels in _ASKED.findall(metrics):
        said: dict[str, str] = dict(_LABEL.findall(labels))
        major, _, minor = said.get("removed_release", "").partition(".")
        if minor.isdigit():
            group = f"{said['group']}/" if said.get("group") else ""
            found.add((f"{group}{said.get('version', '')} {said.get('resource', '')}", (int(major), int(minor))))
    return tuple(DeprecatedApi(name=name, removed=removed) for name, removed in sorted(found))


def _images(api: Api, component: str) -> dict[str, str]:
    """Return the image of a static pod by node."""
    pods = api.get(_PODS, labelSelector=f"component={component},tier=control-plane")["items"]
    return {str(pod["spec"]["nodeName"]): _image(pod) for pod in pods}


def _image(pod: Mapping[str, Any]) -> str:
    return str(pod["spec"]["containers"][0]["image"])


def tag(image: str) -> str:
    """Return the tag of an image: what stands before it may look like a version, as a registry's address does."""
    return image.partition("@")[0].rpartition(":")[2]


def _versions(texts: Mapping[str, str]) -> dict[str, Version]:
    """Return the version in each text; one without is left out, and its host is missing where it is looked for."""
    return {name: version for name, text in texts.items() if (version := Version.of(text))}
