"""What a node is to become, in types: the module's parameters after Ansible has checked them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CRI_SOCKET = "unix:///run/containerd/containerd.sock"

JOIN_FILE = "join.yaml"  # in Paths.site while a host joins; holds the token, and the key of the cluster's certificates


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """The cluster's own settings: the fields of the plan's ``KubernetesPlan`` that a node needs."""

    name: str  # kubeadm's clusterName
    version: str  # "1.36.3"
    endpoint_name: str
    endpoint_address: str
    endpoint_port: int
    api_port: int  # where a control host's own API server listens
    pod_cidr: str
    service_cidr: str
    dns_domain: str
    dns_address: str
    cni: str  # name of the pod network
    image_repository: str
    audit: bool
    encrypt_secrets: bool
    kubelet: Mapping[str, Any]  # fields of KubeletConfiguration
    ignore_preflight: tuple[str, ...]

    @property
    def endpoint(self) -> str:
        """Return ``name:port`` of the API, kubeadm's controlPlaneEndpoint."""
        return f"{self.endpoint_name}:{self.endpoint_port}"

    @classmethod
    def from_plan(cls, name: str, plan: Mapping[str, Any]) -> ClusterSettings:
        """Take what a node needs from the plan's ``kubernetes``. Raises KeyError for a field the plan lacks."""
        return cls(
            name=name,
            version=str(plan["version"]),
            endpoint_name=plan["endpoint_name"],
            endpoint_address=plan["endpoint_address"],
            endpoint_port=int(plan["endpoint_port"]),
            api_port=int(plan["api_port"]),
            pod_cidr=plan["pod_cidr"],
            service_cidr=plan["service_cidr"],
            dns_domain=plan["dns_domain"],
            dns_address=plan["dns_address"],
            cni=str(plan["cni"]["name"]),
            image_repository=plan["image_repository"],
            audit=bool(plan["audit"]),
            encrypt_secrets=bool(plan["encrypt_secrets"]),
            kubelet=dict(plan["kubelet"]),
            ignore_preflight=tuple(plan["ignore_preflight"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """One file a node needs from the site's file server."""

    url: str
    sha256: str | None  # of what is downloaded; None: what the server says in the file `<url>.sha256`
    path: str  # where it goes; of an archive, the directory it is unpacked into
    archive: bool  # a tar archive, compressed or not


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """What a host needs to join. Holds secrets: never shown, never logged."""

    token: str
    ca_hash: str  # "sha256:..." of the CA's public key
    certificate_key: str | None  # control-plane nodes only


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node, whole."""

    name: str
    control: bool
    initialise: bool  # it may make the cluster when there is none
    address: str
    taints: tuple[str, ...]  # "key=value:Effect" or "key:Effect"
    cluster: ClusterSettings
    registry: str  # host:port
    sandbox_image: str
    images: tuple[str, ...]  # fetched before a join, so that the join does not wait for them
    downloads: tuple[Download, ...]
    encryption_key: str | None  # base64 of 32 bytes; control hosts only
    registry_tls: bool = False
    # By name: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, coredns. kubeadm names what is not here.
    control_images: Mapping[str, str] = field(default_factory=dict)

    @property
    def api_server(self) -> str:
        """URL of the host's own API server."""
        return f"https://{self.address}:{self.cluster.api_port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """Every place on a host that the module looks at or writes to, below ``root`` (another one only in tests)."""

    root: Path = Path("/")

    def at(self, path: str) -> Path:
        """Return the absolute ``path`` below the root."""
        return self.root / path.lstrip("/")

    @property
    def kubernetes(self) -> Path:
        """kubeadm's own directory."""
        return self.at("/etc/kubernetes")

    @property
    def site(self) -> Path:
        """What the API server reads of ours, mounted into its pod."""
        return self.kubernetes / "site"

    @property
    def init_file(self) -> Path:
        """The configuration of ``kubeadm init`` and of its phases; control hosts keep it."""
        return self.site / "kubeadm.yaml"

    @property
    def pki(self) -> Path:
        """The certificates kubeadm makes."""
        return self.kubernetes / "pki"

    @property
    def kubelet(self) -> Path:
        """The kubelet's directory."""
        return self.at("/var/lib/kubelet")

    @property
    def etcd(self) -> Path:
        """The data of a stacked etcd member."""
        return self.at("/var/lib/etcd")


def taint(text: str) -> dict[str, str]:
    """Turn ``key=value:Effect`` or ``key:Effect`` into the API's form. Raises ValueError for anything else."""
    head, separator, effect = text.rpartition(":")
    key, _, value = head.partition("=")
    if not separator or not key or effect not in {"NoSchedule", "PreferNoSchedule", "NoExecute"}:
        raise ValueError(f"'{text}' is not a taint: write key=value:NoSchedule, :PreferNoSchedule or :NoExecute")
    return {"key": key, "value": value, "effect": effect} if value else {"key": key, "effect": effect}
