"""What a host is to the cluster, recognised from what kubeadm and the kubelet left on it: there are no marker files.

An init or join came to its end when ``kubelet.conf`` names the kubelet's own rotating certificate. ``kubeadm init``
writes that in its phase kubelet-finalize, after every phase another node depends on; on a joining host the kubelet
writes it once the cluster has signed its certificate, on a control host only after its etcd has joined. Before that,
nobody relies on the host, and it may be reset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from .._base.errors import GroundupError
from .._base.files import read
from . import certificates
from .kubeconfig import cluster_of, decoded, server_of
from .spec import Node, Paths
from .static_pods import STATIC

ROTATING = "/var/lib/kubelet/pki/kubelet-client-current.pem"


class Membership(Enum):
    """What a host is to a cluster."""

    BLANK = "blank"  # nothing of Kubernetes on it
    PARTIAL = "partial"  # an init or join of this cluster that did not come to its end
    MEMBER = "member"  # one of this cluster's nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedState:
    """What was found on the host."""

    kubeconfigs: Mapping[str, str]  # text by file, empty when missing; the first that names a server counts
    ca: bytes | None  # DER
    rotating_certificate: bool
    manifests: frozenset[str]
    leftovers: bool  # anything else kubeadm leaves: keys, a kubelet configuration, etcd data

    @property
    def ca_fingerprint(self) -> str | None:
        """Return the SHA-256 of the cluster's CA, or None when the host has none."""
        return certificates.fingerprint(self.ca) if self.ca else None

    @property
    def finished(self) -> bool:
        """Say whether the host's init or join came to its end."""
        # By the text: a member whose file was damaged by hand since must not be reset.
        return self.rotating_certificate and ROTATING in self.kubeconfigs["kubelet.conf"]


def observe(paths: Paths) -> ObservedState:
    """Look at the host. Raises OSError when a file is there but cannot be read."""
    names = ("admin.conf", "kubelet.conf", "bootstrap-kubelet.conf")
    kubeconfigs = {name: read(paths.kubernetes / name) or "" for name in names}
    embedded = (decoded(cluster_of(text), "certificate-authority-data") for text in kubeconfigs.values())
    authorities = map(certificates.first_certificate, (read(paths.pki / "ca.crt") or "", *embedded))
    places = (paths.pki / "ca.crt", paths.pki / "ca.key", paths.kubelet / "config.yaml", paths.etcd / "member")
    return ObservedState(
        kubeconfigs=kubeconfigs,
        ca=next(filter(None, authorities), None),
        rotating_certificate=paths.at(ROTATING).exists(),
        manifests=frozenset(path.stem for path in (paths.kubernetes / "manifests").glob("*.yaml")),
        leftovers=any(place.exists() for place in (*places, paths.kubernetes / "super-admin.conf")),
    )


def classify(found: ObservedState, node: Node, *, expected_ca: str | None) -> Membership:
    """Say what the host is to ``node``'s cluster, which is known by the SHA-256 of its CA, or by its endpoint.

    Raises GroundupError for a host of another cluster, and for a member with another role.
    """
    if not (any(found.kubeconfigs.values()) or found.leftovers or found.manifests or found.ca):
        return Membership.BLANK
    _refuse_foreign(found, node, expected_ca)
    if not found.finished:
        return Membership.PARTIAL
    is_control = bool(found.manifests & set(STATIC))
    if is_control != node.control:
        now, wanted = ("control-plane node", "worker")[:: 1 if is_control else -1]
        raise GroundupError(
            f"{node.name} is a {now} of this cluster and is to be a {wanted}",
            where=f"host {node.name} ({node.address})",
            why="a node's role is chosen when it joins; changing it means leaving the cluster first",
            remedy=f"drain it, kubectl delete node {node.name}, kubeadm reset on the host, then run this again",
        )
    return Membership.MEMBER


def _refuse_foreign(found: ObservedState, node: Node, expected_ca: str | None) -> None:
    ca = found.ca_fingerprint
    if expected_ca and ca:
        if ca == expected_ca:
            return
        difference = f"its CA certificate has SHA-256 {ca[:16]}..., this cluster's has {expected_ca[:16]}..."
    else:
        server = next(filter(None, map(server_of, found.kubeconfigs.values())), None)
        # A control host's kubelet speaks to the API server beside it.
        ours = {
            (node.cluster.endpoint_name, node.cluster.endpoint_port),
            (node.cluster.endpoint_address, node.cluster.endpoint_port),
            (node.address, node.cluster.api_port),
        }
        if server is None or server in ours:
            return
        difference = f"it speaks to {server[0]}:{server[1]}, this cluster's endpoint is {node.cluster.endpoint}"
    raise GroundupError(
        f"{node.name} belongs to another Kubernetes cluster: {difference}",
        where=f"host {node.name} ({node.address}), /etc/kubernetes",
        why="resetting it would take a node, perhaps the last copy of etcd, from a cluster that is not this site's",
        remedy="check the address in the site file; to take the host all the same, run kubeadm reset on it by hand",
    )
