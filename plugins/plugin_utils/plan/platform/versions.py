"""The version matrix: versions that were built and tested together.

Sources: kubeadm's constants of each Kubernetes release (etcd, CoreDNS, pause); ``Chart.yaml`` and image defaults of
each OpenStack-Helm release; Debian trixie's package versions for software from the OS.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...layers.ports import PORTS
from ...services import RECORDS
from ..types import CniName


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesRelease:
    """A Kubernetes version, and the component versions that its kubeadm expects."""

    etcd: str
    coredns: str
    pause: str
    group: str | None = None  # of supply.lock, beside the default version's; None: part of the lab's


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenStackRelease:
    """An OpenStack release: versions of charts, and of the images they run with here."""

    charts: dict[str, str]
    images: dict[str, str]
    more: dict[str, str]  # images of rarely used services: built and served only for sites that use them
    suffix: str = ""  # of its artifacts in supply.lock, beside the default release's; "": those of the lab
    official: bool = True  # whether OpenStack-Helm has charts of it


@dataclass(frozen=True, slots=True, kw_only=True)
class PodNetwork:
    """A pod network: published images and chart, and its tunnels."""

    images: dict[str, str]  # image name -> path and tag below the registry, as published
    node_images: tuple[str, ...]  # images that run on a node before it is Ready
    chart: str | None = None  # artifact of supply.lock; None: installed without a chart
    chart_version: str = ""
    tunnels: dict[str, int]  # backend -> UDP port


KUBERNETES: dict[str, KubernetesRelease] = {
    "1.36.3": KubernetesRelease(etcd="3.6.16-0", coredns="v1.14.2", pause="3.10.2"),
    # kubeadm 1.37.2 names etcd 3.7.0, and accepts 3.5.24 and newer (MinExternalEtcdVersion).
    "1.37.2": KubernetesRelease(etcd="3.6.16-0", coredns="v1.14.6", pause="3.10.2", group="kubernetes-1.37.2"),
}

_VXLAN, _GENEVE, _VXLAN_CALICO = (PORTS[name].port for name in ("vxlan", "geneve", "vxlan-calico"))
_OTHER_CHARTS = ("ovn", "skyline")  # charts of OpenStack-Helm without a service here

_CHARTS = dict.fromkeys((*RECORDS, *_OTHER_CHARTS), "2026.1.0")
_FOUNDATION = {"mariadb": "11.8", "rabbitmq": "4.0", "memcached": "1.6", "dep-check": "1.0"}

OPENSTACK: dict[str, OpenStackRelease] = {
    "2026.1": OpenStackRelease(
        charts=_CHARTS,
        images={"openstack": "2026.1", "openstack-client": "2026.1", **_FOUNDATION},
        more={"openstack-more": "2026.1"},
    ),
    # The built-in charts keep their own number: what differs is in the images.
    "2026.2": OpenStackRelease(
        charts=_CHARTS,
        images={"openstack": "2026.2", "openstack-client": "2026.2", **_FOUNDATION},
        more={"openstack-more": "2026.2"},
        suffix="-2026.2",
        official=False,
    ),
}

# Images of the cluster, independent of the OpenStack release: image name -> version.
CLUSTER_IMAGES: dict[str, str] = {
    "flannel": "0.28.4",
    "flannel-cni-plugin": "0.9.1",
    "kube-router": "2.1.0",
    "local-path-provisioner": "0.0.30",
}

# The pod network that enforces no policies, and what enforces them beside it.
FLANNEL_IMAGES = ("flannel", "flannel-cni-plugin", "kube-router")
CALICO_PATH = "calico"
POD_NETWORKS: dict[CniName, PodNetwork] = {
    # Its images are built here, as part of CLUSTER_IMAGES.
    "flannel": PodNetwork(images={}, node_images=("flannel",), tunnels={"vxlan": _VXLAN}),
    "cilium": PodNetwork(
        images={"cilium": "cilium/cilium:v1.20.2", "cilium-operator": "cilium/operator-generic:v1.20.2"},
        node_images=("cilium",),
        chart="cilium-charts",
        chart_version="1.20.2",
        tunnels={"vxlan": _VXLAN, "geneve": _GENEVE},
    ),
    "calico": PodNetwork(
        images={
            # The operator has the versions of all others built in: 1.42.3 belongs to Calico 3.32.1.
            "calico-operator": "tigera/operator:v1.42.3",
            "calico-node": f"{CALICO_PATH}/node:v3.32.1",
            "calico-cni": f"{CALICO_PATH}/cni:v3.32.1",
            "calico-typha": f"{CALICO_PATH}/typha:v3.32.1",
            "calico-kube-controllers": f"{CALICO_PATH}/kube-controllers:v3.32.1",
        },
        node_images=("calico-node", "calico-cni"),
        chart="calico-charts",
        chart_version="v3.32.1",
        tunnels={"vxlan": _VXLAN_CALICO},
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeDriver:
    """A driver of volumes: published images and chart."""

    images: dict[str, str]  # image name -> path and tag below the registry, as its chart names them
    chart: str  # artifact of supply.lock
    chart_version: str


RBD_GROUP = "csi-ceph"  # of supply.lock: its chart and images
RBD = VolumeDriver(
    images={
        "cephcsi": "cephcsi/cephcsi:v3.12.2",
        "csi-provisioner": "sig-storage/csi-provisioner:v5.0.1",
        "csi-attacher": "sig-storage/csi-attacher:v4.6.1",
        "csi-resizer": "sig-storage/csi-resizer:v1.11.1",
        "csi-snapshotter": "sig-storage/csi-snapshotter:v8.0.1",
        "csi-node-driver-registrar": "sig-storage/csi-node-driver-registrar:v2.11.1",
    },
    chart="ceph-csi-charts",
    chart_version="3.12.2",
)

KUBEADM_IMAGES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy")


def nearest_kubernetes(version: str) -> KubernetesRelease:
    """Return the matrix entry of ``version``; for an unknown version (a finding), the newest entry."""
    return KUBERNETES.get(version) or KUBERNETES[max(KUBERNETES, key=_order)]


def nearest_openstack(release: str) -> OpenStackRelease:
    """Return the matrix entry of ``release``; for an unknown release (a finding), the newest entry."""
    return OPENSTACK.get(release) or OPENSTACK[max(OPENSTACK, key=_order)]


def release_artifacts(openstack: str, services: Iterable[str]) -> tuple[str, ...]:
    """Return the artifacts of supply.lock with images of the release that are not built for every site."""
    suffix = nearest_openstack(openstack).suffix
    own = nearest_openstack(openstack).images.keys() - _FOUNDATION.keys() if suffix else ()
    return tuple(f"{name}{suffix}" for name in (*sorted(own), *more_images(openstack, services)))


def more_images(openstack: str, services: Iterable[str]) -> dict[str, str]:
    """Return the additional images (also artifacts) that the site's ``services`` need, with versions."""
    used = {image for name in services if name in RECORDS for image in RECORDS[name].images.values()}
    return {name: version for name, version in nearest_openstack(openstack).more.items() if name in used}


def images(
    *, registry: str, kubernetes: str, openstack: str, cni: CniName, services: Iterable[str], rbd: bool
) -> dict[str, str]:
    """Return every image of a site: logical name -> full reference below ``registry`` (``host:port``).

    ``rbd``: whether the site has the driver of volumes in Ceph.
    """
    cluster, cloud = nearest_kubernetes(kubernetes), nearest_openstack(openstack)
    found = {name: f"{registry}/kubernetes/{name}:v{kubernetes}" for name in KUBEADM_IMAGES}
    found["etcd"] = f"{registry}/kubernetes/etcd:{cluster.etcd}"
    found["coredns"] = f"{registry}/kubernetes/coredns:{cluster.coredns}"
    found["pause"] = f"{registry}/kubernetes/pause:{cluster.pause}"
    for name, version in {**CLUSTER_IMAGES, **cloud.images, **more_images(openstack, services)}.items():
        found[name] = f"{registry}/groundup/{name}:{version}"
    if cni != "flannel":
        found = {name: reference for name, reference in found.items() if name not in FLANNEL_IMAGES}
    published = POD_NETWORKS[cni].images | (RBD.images if rbd else {})
    return found | {name: f"{registry}/{path}" for name, path in published.items()}


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
