"""The node's specification: the module's parameters as types, after Ansible has checked them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol

from .._base.errors import OptionError
from .._host.downloads import Download

CRI_SOCKET = "unix:///run/containerd/containerd.sock"

JOIN_FILE = "join.yaml"  # in Paths.site during a join; contains the token and the certificate key


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """The cluster's settings: the fields of the plan's ``KubernetesPlan`` that a node needs."""

    name: str  # kubeadm's clusterName
    version: str  # "1.36.3"
    endpoint_name: str
    endpoint_address: str
    endpoint_port: int
    api_port: int  # port of a control host's own API server
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
    control_addresses: tuple[str, ...]  # of all control hosts
    edge_ports: tuple[int, ...]  # node ports behind the public names

    @property
    def endpoint(self) -> str:
        """Return ``name:port`` of the API, kubeadm's controlPlaneEndpoint."""
        return f"{self.endpoint_name}:{self.endpoint_port}"

    @classmethod
    def from_plan(cls, name: str, plan: Mapping[str, Any]) -> ClusterSettings:
        """Read the settings from the plan's ``kubernetes``. Raises OptionError for a missing field."""
        try:
            found = {item.name: plan[item.name] for item in fields(cls) if item.name != "name"}
            found |= {"name": name, "cni": plan["cni"]["name"]}
            found |= {each: tuple(plan[each]) for each in ("ignore_preflight", "control_addresses", "edge_ports")}
        except KeyError as error:
            raise OptionError(f"the option cluster lacks {error}: give the plan's kubernetes as it is") from None
        return cls(**found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """Credentials to join the cluster. Secret: never shown, never logged."""

    token: str
    ca_hash: str  # "sha256:..." of the CA's public key
    certificate_key: str | None  # control-plane nodes only


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node."""

    name: str
    control: bool
    initialise: bool  # may initialise the cluster when there is none
    address: str
    taints: tuple[str, ...]  # "key=value:Effect" or "key:Effect"
    cluster: ClusterSettings
    registry: str  # host:port
    sandbox_image: str
    images: tuple[str, ...]  # pulled before a join, to make the node Ready soon after
    downloads: tuple[Download, ...]
    encryption_key: str | None  # base64 of 32 bytes; control hosts only
    registry_tls: bool = True
    surveyed: bool = False  # all control hosts were checked, and none belongs to a cluster
    ca_certificate: str | None = None  # PEM, for registry and file server only; None: the host's trust store
    later_images: tuple[str, ...] = ()  # of later pods, pulled in the background
    # By name: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, coredns. For others, kubeadm's image.
    control_images: Mapping[str, str] = field(default_factory=dict)

    @property
    def api_port(self) -> int:
        """Port of the API server of this and every other control host."""
        return self.cluster.api_port

    @property
    def api_server(self) -> str:
        """URL of the host's own API server."""
        return f"https://{self.address}:{self.api_port}"


class ApiHost(Protocol):
    """The fields of a control host that certificate renewal and restarts need."""

    @property
    def name(self) -> str:
        """Its node name."""

    @property
    def address(self) -> str:
        """Address of its etcd and API server."""

    @property
    def api_port(self) -> int:
        """Port of every control host's API server."""

    @property
    def api_server(self) -> str:
        """URL of its own API server."""


class Paths:
    """All paths on a host that the module uses, below ``root`` (another one for tests only)."""

    def __init__(self, root: Path = Path("/")) -> None:
        """Set the paths."""
        self.root = root
        self.kubernetes = self.at("/etc/kubernetes")  # kubeadm's own directory
        self.pki = self.kubernetes / "pki"  # the certificates kubeadm makes
        self.site = self.kubernetes / "site"  # our files for the API server, mounted into its pod
        self.init_file = self.site / "kubeadm.yaml"  # for `kubeadm init` and its phases; stays on control hosts
        self.kubelet = self.at("/var/lib/kubelet")
        self.etcd = self.at("/var/lib/etcd")  # the data of a stacked etcd member

    def at(self, path: str) -> Path:
        """Return the absolute ``path`` below the root."""
        return self.root / path.lstrip("/")


def taint(text: str) -> dict[str, str]:
    """Parse ``key=value:Effect`` or ``key:Effect`` into the API's form. Raises ValueError for anything else."""
    head, separator, effect = text.rpartition(":")
    key, _, value = head.partition("=")
    if not separator or not key or effect not in {"NoSchedule", "PreferNoSchedule", "NoExecute"}:
        raise ValueError(f"'{text}' is not a taint: write key=value:NoSchedule, :PreferNoSchedule or :NoExecute")
    return {"key": key, "value": value, "effect": effect} if value else {"key": key, "effect": effect}
