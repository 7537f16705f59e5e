"""The node's specification: the module's parameters as types, after Ansible has checked them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from .._host.downloads import Download
from .._plan.kubernetes import KubernetesPlan, NodeSupply

CRI_SOCKET = "unix:///run/containerd/containerd.sock"

JOIN_FILE = "join.yaml"  # in Paths.site during a join; contains the token and the certificate key


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """Credentials to join the cluster. Secret: never shown, never logged."""

    token: str
    ca_hash: str  # "sha256:..." of the CA's public key
    certificate_key: str | None = None  # control-plane nodes only


@dataclass(frozen=True, slots=True, kw_only=True)
class EncryptionKey:
    """A key of Secrets at rest. Its name is beside each Secret in etcd."""

    name: str
    secret: str = field(default="", repr=False)  # base64 of 32 bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    name: str
    control: bool
    address: str
    site: str  # also kubeadm's name of the cluster
    cluster: KubernetesPlan
    supply: NodeSupply
    sandbox_image: str
    initialise: bool = False  # may initialise the cluster when there is none
    taints: tuple[str, ...] = ()  # "key=value:Effect" or "key:Effect"
    images: tuple[str, ...] = ()  # pulled before a join, to make the node Ready soon after
    downloads: tuple[Download, ...] = ()
    encryption_keys: tuple[EncryptionKey, ...] = ()  # of Secrets at rest, the one that writes first; control hosts only
    issued_since: float = 0  # seconds since 1970: older certificates of kubeadm are renewed
    surveyed: bool = False  # all control hosts were checked, and none belongs to a cluster
    ca_certificate: str | None = None  # PEM, for registry and file server only; None: the host's trust store
    registry_login: str | None = None  # user:password
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
