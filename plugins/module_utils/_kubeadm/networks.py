"""The networks that the cluster of a host was made with: what runs keeps the addresses and names that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._base import yaml_text
from .._base.files import read
from . import static_pods

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._plan.kubernetes import KubernetesPlan
    from .spec import Paths

# Field of the plan -> key of the site file, and what has it.
FIELDS = {
    "service_cidr": ("service_cidr", "Services in"),
    "dns_address": ("service_cidr", "its DNS at"),
    "pod_cidr": ("pod_cidr", "pods in"),
    "dns_domain": ("dns_domain", "Services named in"),
    "cni": ("cni", "the pod network"),
}
# The file that each pod network writes into /etc/cni/net.d of every node.
_POD_NETWORKS = {"10-flannel.conflist": "flannel", "05-cilium.conflist": "cilium", "10-calico.conflist": "calico"}


def found(paths: Paths) -> dict[str, str]:
    """Return those that the host knows, by field. Raises OSError when a file cannot be read."""
    # Written by kubeadm at the join; the site's own settings are in another file.
    kubelet = yaml_text.load(read(paths.kubelet / "config.yaml") or "")
    flags = static_pods.flags(static_pods.container(static_pods.API, paths))
    manager = static_pods.flags(static_pods.container("kube-controller-manager", paths))
    present = [name for file, name in _POD_NETWORKS.items() if (paths.at("/etc/cni/net.d") / file).exists()]
    said = {
        "service_cidr": flags.get("service-cluster-ip-range"),
        "dns_address": next(iter(kubelet.get("clusterDNS") or ()), ""),
        "pod_cidr": manager.get("cluster-cidr"), "dns_domain": kubelet.get("clusterDomain"), "cni": ", ".join(present),
    }  # fmt: skip
    return {name: str(text) for name, text in said.items() if text}


def differing(made: Mapping[str, str], cluster: KubernetesPlan) -> list[tuple[str, str, str, str]]:
    """Return key of the site file, what has it, what it was made with and what the plan says, where these differ."""
    plan = {name: str(getattr(cluster, name)) for name in FIELDS} | {"cni": cluster.cni.name}
    return [
        (*FIELDS[name], text, plan[name]) for name, text in made.items()
        if name in plan and plan[name] not in text.split(", ")
    ]  # fmt: skip
