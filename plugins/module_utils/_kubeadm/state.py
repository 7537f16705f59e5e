"""Detect a host's membership in the cluster from the files that kubeadm and the kubelet left on it.

An init or join is finished when ``kubelet.conf`` names the kubelet's rotating certificate. ``kubeadm init`` writes it
in its phase kubelet-finalize, after all phases that other nodes depend on. On a joining host, the kubelet writes it
once the cluster has signed its certificate; on a control host, only after its etcd has joined. Before that, no other
host depends on this one, and it may be reset if one of our runs began it (`half_made`). Anything else is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from .._base.errors import GroundupError
from .._base.files import read
from . import certificates
from .half_made import HalfMade, begun
from .kubeconfig import cluster_of, decoded, server_of
from .spec import Node, Paths
from .static_pods import STATIC

ROTATING = "/var/lib/kubelet/pki/kubelet-client-current.pem"


class Membership(Enum):
    """A host's membership in the cluster."""

    BLANK = "blank"  # nothing of Kubernetes on it
    PARTIAL = "partial"  # an unfinished init or join of this cluster
    MEMBER = "member"  # a node of this cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedState:
    """The traces of Kubernetes on the host."""

    kubeconfigs: Mapping[str, str]  # text by file, empty when missing; the first with a server counts
    ca: bytes | None  # DER
    rotating_certificate: bool
    manifests: frozenset[str]
    leftovers: bool  # other files of kubeadm: keys, a kubelet configuration, etcd data
    etcd_data: bool
    begun: HalfMade | None  # the unfinished init or join of one of our runs

    @property
    def ca_fingerprint(self) -> str | None:
        """Return the SHA-256 of the cluster's CA; None when the host has none."""
        return certificates.fingerprint(self.ca) if self.ca else None

    @property
    def finished(self) -> bool:
        """Return whether the host's init or join is finished."""
        # Search the text, do not parse it: a member with a file damaged by hand must not be reset.
        return self.rotating_certificate and ROTATING in self.kubeconfigs["kubelet.conf"]

    @property
    def restoring(self) -> bool:
        """Return whether a restore began on this host when it had nothing of Kubernetes; kubeadm has not finished."""
        return not self.finished and self.begun is not None and self.begun.verb == "restore"

    @property
    def blank(self) -> bool:
        """Return whether the host has no trace of Kubernetes."""
        return not (any(self.kubeconfigs.values()) or self.leftovers or self.manifests or self.ca)

    @property
    def server(self) -> tuple[str, int] | None:
        """Return host and port of the first API named in a kubeconfig, or None."""
        return next(filter(None, map(server_of, self.kubeconfigs.values())), None)


def observe(paths: Paths) -> ObservedState:
    """Examine the host. Raises OSError when a file exists but cannot be read."""
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
        etcd_data=(paths.etcd / "member").exists(),
        begun=begun(paths),
    )


def classify(found: ObservedState, node: Node, *, expected_ca: str | None) -> Membership:
    """Return the host's membership in ``node``'s cluster, identified by its CA's SHA-256 or its endpoint.

    Raises GroundupError for a host of another or an unknown cluster, for leftovers that none of our runs made, and for
    a member with another role.
    """
    if found.blank:
        return Membership.BLANK
    _refuse_foreign(found, node, expected_ca)
    if not found.finished:
        _refuse_leftovers(found, node)
        return Membership.PARTIAL
    is_control = bool(found.manifests & set(STATIC))
    if is_control != node.control:
        now, wanted = ("control-plane node", "worker")[:: 1 if is_control else -1]
        raise GroundupError(
            f"{node.name} is a {now} of this cluster and is to be a {wanted}",
            where=f"host {node.name} ({node.address})",
            why="a node's role is chosen when it joins; changing it means leaving the cluster first",
            remedy=f"ansible-playbook groundup.cloud.remove -e machine={node.name}, then run this again",
        )
    return Membership.MEMBER


def _refuse_foreign(found: ObservedState, node: Node, expected_ca: str | None) -> None:
    ca, server = found.ca_fingerprint, found.server
    if expected_ca and ca:
        if ca == expected_ca:
            return
        difference = f"its CA certificate has SHA-256 {ca[:16]}..., this cluster's has {expected_ca[:16]}..."
    elif server:
        # A control host's kubelet uses its own API server.
        if server in {
            (node.cluster.endpoint_name, node.cluster.endpoint_port),
            (node.cluster.endpoint_address, node.cluster.endpoint_port),
            (node.address, node.cluster.api_port),
        }:
            return
        difference = f"it speaks to {server[0]}:{server[1]}, this cluster's endpoint is {node.cluster.endpoint}"
    elif ca or found.begun or not found.finished:
        return
    else:
        raise GroundupError(
            f"{node.name} is a node, and nothing on it says of which cluster",
            where=f"host {node.name} ({node.address}), /etc/kubernetes: pki/ca.crt and every kubeconfig are unreadable",
            why="it may be a node, perhaps the last copy of etcd, of a cluster that is not this site's",
            remedy="restore /etc/kubernetes/pki/ca.crt or kubelet.conf from a backup or another node",
        )
    raise GroundupError(
        f"{node.name} belongs to another Kubernetes cluster: {difference}",
        where=f"host {node.name} ({node.address}), /etc/kubernetes",
        why="resetting it would take a node, perhaps the last copy of etcd, from a cluster that is not this site's",
        remedy="check the address in the site file; to take the host all the same, run kubeadm reset on it by hand",
    )


def _refuse_leftovers(found: ObservedState, node: Node) -> None:
    """Refuse leftovers that no run of this site made: they must not be reset. Raises GroundupError."""
    if found.begun and found.begun.cluster == node.site:
        return
    began = f"cluster {found.begun.cluster} began it" if found.begun else "no run of groundup.cloud began it"
    data = ", etcd data among them" if found.etcd_data else ""
    raise GroundupError(
        f"{node.name} has leftovers of Kubernetes{data}, and {began}",
        where=f"host {node.name} ({node.address}), /etc/kubernetes, /var/lib/kubelet, /var/lib/etcd",
        why="the node would have to be reset; only what a run of this site left half made is, never what may be in use",
        remedy="if it is a damaged node of this cluster, restore its kubelet.conf and kubelet certificate "
        "(docs/kubernetes.md, Recovery by hand); if nothing on it is needed, run kubeadm reset on it by hand",
    )
