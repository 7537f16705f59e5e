"""What a cluster runs and what an upgrade would meet, by its API."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ..kube.client import Api
from ..kube.nodes import NODES
from ..kube.removal import LeavingNode, is_control, leaving
from ..kube.types import Object, resource_path
from ..kube.workloads import is_ready
from .steps import ClusterVersions, Version

_PODS = resource_path("v1", "pods", namespace="kube-system")
_PROXY = resource_path("apps/v1", "daemonsets", namespace="kube-system", name="kube-proxy")
_DNS = resource_path("apps/v1", "deployments", namespace="kube-system", name="coredns")
_SERVER, _ETCD = "kube-apiserver", "etcd"
_MANAGERS = ("kube-controller-manager", "kube-scheduler")
_BUDGETS = resource_path("policy/v1", "poddisruptionbudgets")
_ASKED = re.compile(r"^apiserver_requested_deprecated_apis\{([^}]*)\} [1-9]", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class DeprecatedApi:
    """An API that somebody has asked for since the API server started, and that a later version does not have."""

    name: str  # "policy/v1beta1 poddisruptionbudgets"
    removed: tuple[int, int]  # in this version


class SickPart(NamedTuple):
    """What a control plane lacks."""

    host: str
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCluster:
    """A cluster before an upgrade, or in the middle of one."""

    versions: ClusterVersions
    etcd: Mapping[str, str]  # image of each control host's etcd
    away: tuple[str, ...]  # nodes that are not Ready
    sick: tuple[SickPart, ...]  # pods of control planes that are not Ready, and those that are not there
    budgets: tuple[str, ...]  # PodDisruptionBudgets that allow no eviction now
    deprecated: tuple[DeprecatedApi, ...]
    nodes: Mapping[str, Object]
    leaving: Mapping[str, LeavingNode] = field(default_factory=dict)  # nodes that are drained, with their pods


def survey(api: Api) -> FoundCluster:
    """Return what there is. Raises ApiError."""
    nodes = {str(node["metadata"]["name"]): node for node in api.get(NODES)["items"]}
    info = {name: node["status"]["nodeInfo"] for name, node in nodes.items()}
    pods = api.get(_PODS, labelSelector="tier=control-plane")["items"]
    images = {one: _images(pods, one) for one in (_SERVER, *_MANAGERS, _ETCD)}
    parts = {one: _versions({host: tag(image) for host, image in images[one].items()}) for one in (_SERVER, *_MANAGERS)}
    control = {name for name, node in nodes.items() if is_control(node)}
    return FoundCluster(
        versions=ClusterVersions(
            servers=parts[_SERVER],
            managers={
                host: frozenset(parts[one][host] for one in _MANAGERS if host in parts[one]) for host in parts[_SERVER]
            },
            kubelets=_versions({name: said["kubeletVersion"] for name, said in info.items()}),
            proxy=_add_on(api, _PROXY),
            dns=_add_on(api, _DNS),
            runtimes=_versions({
                name: said["containerRuntimeVersion"]
                for name, said in info.items()
                if said["containerRuntimeVersion"].startswith("containerd:")
            }),
        ),
        etcd=images[_ETCD],
        away=tuple(sorted(name for name, node in nodes.items() if not is_ready(node))),
        sick=_sick(pods, parts, sorted(parts[_SERVER].keys() | control)),
        budgets=tuple(sorted(
            f"{one['metadata']['namespace']}/{one['metadata']['name']}"
            for one in api.get(_BUDGETS)["items"]
            if (status := one.get("status") or {}).get("expectedPods") and not status.get("disruptionsAllowed")
        )),
        deprecated=deprecated(api.text("/metrics")),
        nodes=nodes,
    )  # fmt: skip


def draining(api: Api, found: FoundCluster, hosts: Iterable[str]) -> FoundCluster:
    """Return ``found`` with the pods of ``hosts``, which are drained. Raises ApiError."""
    # A node that comes back keeps its volumes.
    pods = {host: leaving(api, host, nodes=found.nodes, volumes=()) for host in hosts if host in found.nodes}
    return replace(found, leaving=pods)


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


def _images(pods: Sequence[Object], component: str) -> dict[str, str]:
    """Return the image of a static pod by node."""
    found = [pod for pod in pods if pod["metadata"]["labels"].get("component") == component]
    return {str(pod["spec"]["nodeName"]): _image(pod) for pod in found}


def _sick(
    pods: Sequence[Object], parts: Mapping[str, Mapping[str, Version]], control: Sequence[str]
) -> tuple[SickPart, ...]:
    """Return what the control planes of the hosts ``control`` lack. ``parts``: versions by component and host."""
    late = sorted((str(pod["metadata"]["name"]), str(pod["spec"]["nodeName"])) for pod in pods if not is_ready(pod))
    lacking = [
        SickPart(host, f"no {one} is known of {host}") for host in control for one in parts if host not in parts[one]
    ]
    return (*(SickPart(host, f"pod {name} is not Ready") for name, host in late), *lacking)


def _add_on(api: Api, path: str) -> Version | None:
    """Return the version of a workload's pods, None without one."""
    found = api.find(path)
    return Version.of(tag(_image(found["spec"]["template"]))) if found else None


def _image(pod: Mapping[str, Any]) -> str:
    return str(pod["spec"]["containers"][0]["image"])


def tag(image: str) -> str:
    """Return the tag of an image: what stands before it may look like a version, as a registry's address does."""
    return image.partition("@")[0].rpartition(":")[2]


def _versions(texts: Mapping[str, str]) -> dict[str, Version]:
    """Return the version in each text; one without is left out, and its host is missing where it is looked for."""
    return {name: version for name, text in texts.items() if (version := Version.of(text))}
