"""What a host is to the cluster, recognised from what kubeadm and the kubelet left on it: there are no marker files.

The evidence that init or join came to its end is ``kubelet.conf`` naming the kubelet's own rotating certificate:
``kubeadm init`` writes that in its phase kubelet-finalize, after every phase another node depends on, and on a joining
host the kubelet writes it itself once the cluster has signed its certificate, for a control host only after its etcd
has joined. Before that, nobody relies on the host, and it may be reset.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from urllib.parse import urlsplit

from . import certificates
from .errors import NodeError
from .spec import Node, Paths

ROTATING = "/var/lib/kubelet/pki/kubelet-client-current.pem"
CONTROL_MANIFESTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
SERVER = re.compile(r"^\s*server:\s*(\S+)\s*$", re.MULTILINE)
EMBEDDED_CA = re.compile(r"^\s*certificate-authority-data:\s*(\S+)\s*$", re.MULTILINE)


class Membership(Enum):
    """What a host is to a cluster."""

    BLANK = "blank"  # nothing of Kubernetes on it
    PARTIAL = "partial"  # an init or join of this cluster that did not come to its end
    MEMBER = "member"  # one of this cluster's nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was found on the host."""

    kubelet_conf: str = ""  # text of the kubeconfig files, empty when missing
    bootstrap_conf: str = ""
    admin_conf: str = ""
    ca: bytes | None = None  # DER
    rotating_certificate: bool = False
    manifests: frozenset[str] = frozenset()
    remains: bool = False  # anything else kubeadm leaves: keys, a kubelet configuration, etcd data

    @property
    def ca_fingerprint(self) -> str | None:
        """Return the SHA-256 of the cluster's CA, or None when the host has none."""
        return certificates.fingerprint(self.ca) if self.ca else None

    @property
    def finished(self) -> bool:
        """Say whether the host's init or join came to its end."""
        return ROTATING in self.kubelet_conf and self.rotating_certificate


def observe(paths: Paths) -> Evidence:
    """Read the evidence from the host. Raises OSError when a file is there but cannot be read."""
    confs = {name: _text(paths, name) for name in ("kubelet.conf", "bootstrap-kubelet.conf", "admin.conf")}
    manifests = paths.kubernetes / "manifests"
    authority = certificates.first_certificate(_text(paths, "pki/ca.crt"))
    for text in confs.values():
        if authority is None and (embedded := EMBEDDED_CA.search(text)):
            authority = certificates.first_certificate(certificates.pem_of(embedded.group(1)))
    return Evidence(
        kubelet_conf=confs["kubelet.conf"],
        bootstrap_conf=confs["bootstrap-kubelet.conf"],
        admin_conf=confs["admin.conf"],
        ca=authority,
        rotating_certificate=paths.at(ROTATING).exists(),
        manifests=frozenset(p.stem for p in manifests.glob("*.yaml")) if manifests.is_dir() else frozenset(),
        remains=any(
            place.exists()
            for place in (
                paths.pki / "ca.crt",
                paths.pki / "ca.key",
                paths.kubelet / "config.yaml",
                paths.etcd / "member",
                paths.kubernetes / "super-admin.conf",
            )
        ),
    )


def classify(evidence: Evidence, node: Node, *, expected_ca: str | None) -> Membership:
    """Say what the host is to ``node``'s cluster.

    Args:
        evidence: what was found.
        node: what the host is to become.
        expected_ca: SHA-256 of the cluster's CA certificate when the controller knows it, else None: then a host is
            ours when its kubeconfig files name the cluster's endpoint.

    Raises:
        NodeError: the host belongs to another cluster, or is a member with another role.
    """
    texts = (evidence.admin_conf, evidence.kubelet_conf, evidence.bootstrap_conf)
    if not any(texts) and not evidence.remains and not evidence.manifests and evidence.ca is None:
        return Membership.BLANK
    _refuse_foreign(evidence, node, expected_ca)
    if not evidence.finished:
        return Membership.PARTIAL
    is_control = bool(evidence.manifests & set(CONTROL_MANIFESTS))
    if is_control != node.control:
        now, wanted = ("control-plane node", "worker")[:: 1 if is_control else -1]
        raise NodeError(
            f"{node.name} is a {now} of this cluster and is to be a {wanted}",
            where=f"host {node.name} ({node.address})",
            why="a node's role is chosen when it joins; changing it means leaving the cluster first",
            remedy=f"drain it, kubectl delete node {node.name}, kubeadm reset on the host, then run this again",
        )
    return Membership.MEMBER


def _refuse_foreign(evidence: Evidence, node: Node, expected_ca: str | None) -> None:
    found = evidence.ca_fingerprint
    if expected_ca and found:
        if found == expected_ca:
            return
        difference = f"its CA certificate has SHA-256 {found[:16]}..., this cluster's has {expected_ca[:16]}..."
    else:
        server = next((s for text in (evidence.admin_conf, evidence.kubelet_conf) if (s := server_of(text))), None)
        server = server or server_of(evidence.bootstrap_conf)
        # A control host's kubelet speaks to the API server beside it.
        ours = {
            (node.cluster.endpoint_name, node.cluster.endpoint_port),
            (node.cluster.endpoint_address, node.cluster.endpoint_port),
            (node.address, node.cluster.api_port),
        }
        if server is None or server in ours:
            return
        difference = f"it speaks to {server[0]}:{server[1]}, this cluster's endpoint is {node.cluster.endpoint}"
    raise NodeError(
        f"{node.name} belongs to another Kubernetes cluster: {difference}",
        where=f"host {node.name} ({node.address}), /etc/kubernetes",
        why="resetting it would take a node, perhaps the last copy of etcd, from a cluster that is not this site's",
        remedy="check the address in the site file; to take the host all the same, run kubeadm reset on it by hand",
    )


def server_of(kubeconfig: str) -> tuple[str, int] | None:
    """Return host and port of the API a kubeconfig's text names, or None."""
    found = SERVER.search(kubeconfig)
    if found is None:
        return None
    url = urlsplit(found.group(1).strip("\"'"))
    return (url.hostname, url.port or 443) if url.hostname else None


def _text(paths: Paths, name: str) -> str:
    try:
        return (paths.kubernetes / name).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return ""
