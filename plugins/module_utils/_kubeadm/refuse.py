"""What a run does not do to a member of the cluster by the way. Asked before anything on the host is written."""

from __future__ import annotations

import re
from contextlib import suppress

from . import api_server, documents, static_pods
from .errors import NodeError
from .host import Host
from .spec import Cluster, Node, Paths

# Of Kubernetes itself: what a vendor or a site hangs on it (1.36.3+corp.1, v1.36.3-corp.1) is no other version.
VERSION = re.compile(r"\bv(\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?)")
TAG = re.compile(rf":{VERSION.pattern}[^\s@:/]*(?:@\S+)?$")
DNS = re.compile(r"^clusterDNS:\n\s*- (\S+)$", re.MULTILINE)
DOMAIN = re.compile(r"^clusterDomain: (\S+)$", re.MULTILINE)
TIMEOUT = 30.0  # seconds
# What each pod network writes into /etc/cni/net.d of every node.
POD_NETWORKS = {"10-flannel.conflist": "flannel", "05-cilium.conflist": "cilium", "10-calico.conflist": "calico"}
ENCRYPTION = "/etc/kubernetes/site/encryption.yaml"


def refuse(node: Node, *, host: Host, paths: Paths) -> None:
    """Refuse another version of Kubernetes, other networks inside the cluster, another key of Secrets at rest or none.

    Raises NodeError, OSError.
    """
    refuse_cluster(node.cluster, name=node.name, host=host, paths=paths)
    if node.control:
        _encryption(node, paths=paths)


def refuse_cluster(cluster: Cluster, *, name: str, host: Host, paths: Paths) -> None:
    """Refuse what the member called ``name`` shows the whole cluster not to be. Raises NodeError, OSError."""
    _upgrade(cluster, name=name, host=host, paths=paths)
    _networks(cluster, name=name, paths=paths)
    _pod_network(cluster, name=name, paths=paths)


def _upgrade(cluster: Cluster, *, name: str, host: Host, paths: Paths) -> None:
    kubelet, said = paths.at("/usr/local/bin/kubelet"), ""
    if kubelet.exists():
        # One that does not even run has no version to keep: it is fetched again.
        with suppress(NodeError, OSError):
            said = host.run([str(kubelet), "--version"], timeout=TIMEOUT, why="a member's version is its kubelet's")
    image = static_pods.image(static_pods.read(api_server.NAME, paths)) or ""
    wanted = VERSION.match(f"v{cluster.version}")
    for found in (VERSION.search(said), TAG.search(image)):
        if found and wanted and found.group(1) != wanted.group(1):
            raise NodeError(
                f"{name} runs Kubernetes v{found.group(1)}, the site file says v{cluster.version}",
                where=f"host {name}, site file key kubernetes.version",
                why="an upgrade goes host by host, with an etcd snapshot before it; no re-run does it by the way",
                remedy=f"set kubernetes.version to {found.group(1)}, or upgrade with kubeadm upgrade",
            )


def _networks(cluster: Cluster, *, name: str, paths: Paths) -> None:
    """Refuse what Services, Nodes and pods already have addresses of: the new ones would find nobody there."""
    made = paths.kubelet / "config.yaml"  # by kubeadm, when the host joined; the site's own settings are beside it
    kubelet = made.read_text(encoding="utf-8") if made.exists() else ""
    flags = static_pods.flags(static_pods.read(api_server.NAME, paths))
    manager = static_pods.flags(static_pods.read("kube-controller-manager", paths))
    dns, domain = DNS.search(kubelet), DOMAIN.search(kubelet)
    for key, what, found, wanted in (
        ("service_cidr", "Services in", flags.get("service-cluster-ip-range"), cluster.service_cidr),
        ("service_cidr", "its DNS at", dns and dns.group(1), cluster.dns_address),
        ("pod_cidr", "pods in", manager.get("cluster-cidr"), cluster.pod_cidr),
        ("dns_domain", "Services named in", domain and domain.group(1), cluster.dns_domain),
    ):
        if found and found != wanted:
            raise NodeError(
                f"{name}'s cluster was made with {what} {found}, the site file says {wanted}",
                where=f"host {name}, site file key kubernetes.{key}",
                why="what runs keeps the addresses and names it has, and nothing new would find it",
                remedy=f"write kubernetes.{key} as the cluster was made; other networks mean a new cluster",
            )


def _pod_network(cluster: Cluster, *, name: str, paths: Paths) -> None:
    """Refuse a second pod network beside the one that pods are on."""
    found = [network for file, network in POD_NETWORKS.items() if (paths.at("/etc/cni/net.d") / file).exists()]
    if found and cluster.cni not in found:
        raise NodeError(
            f"the pods of {name} are on {found[0]}, the site file says {cluster.cni}",
            where=f"host {name}, /etc/cni/net.d; site file key kubernetes.cni",
            why="pods of two networks do not reach each other; nothing takes the first one away or moves its pods",
            remedy=f"set kubernetes.cni to {found[0]}; another pod network means a new cluster",
        )


def _encryption(node: Node, *, paths: Paths) -> None:
    """Secrets in etcd are read with the key they were written with, and with no other."""
    path = paths.at(ENCRYPTION)
    if not path.exists() or "encryption-provider-config" not in static_pods.flags(
        static_pods.read(api_server.NAME, paths)
    ):
        return
    if not node.cluster.encrypt_secrets:
        raise NodeError(
            f"the Secrets of {node.name}'s cluster are encrypted at rest, the site file says they are not",
            where=f"host {node.name}, site file key kubernetes.encrypt_secrets",
            why="an API server without the key could not read a single Secret",
            remedy="set kubernetes.encrypt_secrets to true; to give it up, write every Secret anew in clear text first",
        )
    if node.encryption_key and path.read_text(encoding="utf-8") != documents.encryption_config(node.encryption_key):
        raise NodeError(
            f"the key of Secrets at rest on {node.name} is not the one in the site's store of secrets",
            where=f"host {node.name}, {path}; secret kubernetes/encryption-key",
            why="an API server with another key could not read a single Secret",
            remedy="restore the store this cluster was made with; keys are not rotated by a run of this layer",
        )
