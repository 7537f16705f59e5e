"""The infrastructure's Kubernetes cluster, as the plan decides it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

CniName = Literal["flannel", "cilium", "calico"]
Volumes = Literal["local", "ceph-rbd", "external"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSupply:
    """Where artifacts come from: the fields of `SupplyPlan` that nodes need."""

    registry: str  # "registry.lab.test:5000", or with a project's path: every image reference starts with it
    registry_tls: bool  # whether the registry speaks HTTPS; the seed's always does
    registry_login: str | None = None  # name of the secret, "user:password"; None: it serves anybody


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePlan:
    """One Helm release of the release graph."""

    name: str
    chart: str  # a name; of the site's own a path or an oci:// reference
    version: str  # chart version
    namespace: str
    needs: tuple[str, ...]  # releases that must verify first
    verify: str  # the service whose record verifies it; "workloads": its workloads must run
    values: dict[str, Any]  # leaves {"$secret": "name"} are resolved from the secrets store just before rendering
    slowness: float = 1.0  # factor on the time allowed for its start

    @property
    def is_extra(self) -> bool:
        """Return whether it is the site's own: its chart is then a path or an oci:// reference."""
        return "/" in self.chart


@dataclass(frozen=True, slots=True, kw_only=True)
class CniPlan:
    """The pod network."""

    name: CniName
    mtu: int  # of the pod's interface, encapsulation already subtracted
    overhead: int  # bytes of the encapsulation
    backend: str  # vxlan | geneve | host-gw
    port: int | None  # UDP port of the tunnel; None: no tunnel
    images: tuple[str, ...]  # images that a node runs before it is Ready
    charts: str | None  # artifact of supply.lock with its charts; None: installed without a chart
    releases: tuple[ReleasePlan, ...]  # in this order


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesPlan:
    """The infrastructure's own Kubernetes cluster."""

    version: str  # "1.36.3"; while an upgrade is open, the oldest API server's
    endpoint_name: str  # "kubernetes.<domain>"
    endpoint_address: str  # the VIP, or the only control host
    endpoint_port: int  # 6443
    api_port: int  # of each control host's own API server: HAProxy holds endpoint_port on the VIP of the same hosts
    pod_cidr: str
    service_cidr: str
    dns_domain: str
    dns_address: str
    cni: CniPlan
    first_control: str  # runs kubeadm init; other control hosts join
    etcd_members: int
    storage_class: str  # "general"
    storage_backend: Volumes
    storage_charts: str | None  # artifact of supply.lock with the class's driver; None: the class has none by chart
    storage_releases: tuple[ReleasePlan, ...]  # of the driver; the layer `storage` installs them
    audit: bool
    encrypt_secrets: bool
    kubelet: dict[str, Any]  # KubeletConfiguration fields that the site sets
    ignore_preflight: tuple[str, ...]  # kubeadm preflight checks that the hardware profile cannot satisfy
    image_repository: str  # "registry.lab.test:5000/kubernetes"
    control_addresses: tuple[str, ...]  # of all control hosts, which alone may reach `edge_ports`
    edge_ports: tuple[int, ...]  # node ports behind the public names
    upgrading: tuple[str, ...] = ()  # while an upgrade is open, the other versions that members may have

    @property
    def endpoint(self) -> str:
        """Return ``name:port`` of the API, kubeadm's controlPlaneEndpoint."""
        return f"{self.endpoint_name}:{self.endpoint_port}"
