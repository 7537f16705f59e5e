"""The pod network: its overhead per packet, and the chart that installs it.

Overheads and ports come from each project's code: Cilium 1.20 `pkg/mtu/mtu.go` (TunnelOverheadIPv4) and
`pkg/defaults`; Calico 3.32 `felix/dataplane/linux/int_dataplane.go` (vxlanMTUOverhead) and VXLANPort in
`felix/config`; flannel's VXLAN backend on Linux. A Geneve header without options is as long as a VXLAN header.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..types import CniName, CniPlan, ReleasePlan
from . import versions

# Outer Ethernet 14 + IPv4 20 + UDP 8 + VXLAN or Geneve 8 bytes.
TUNNEL_OVERHEAD = 50
CALICO_NAMESPACE = "tigera-operator"


def cni(
    *, name: CniName, backend: str, underlay_mtu: int, pod_cidr: str, api: tuple[str, int], images: dict[str, str],
    nodes: int,
) -> CniPlan:  # fmt: skip
    """Return the pod network.

    ``backend``: the protocol of the tunnel between hosts, or ``host-gw`` for plain routes. ``api``: address and port of
    the API servers, because the pod network cannot reach them through itself. ``nodes``: how many.
    """
    overhead = 0 if backend == "host-gw" else TUNNEL_OVERHEAD
    mtu = underlay_mtu - overhead
    record = versions.POD_NETWORKS[name]
    found = CniPlan(
        name=name,
        mtu=mtu,
        overhead=overhead,
        backend=backend,
        port=record.tunnels.get(backend),
        charts=record.chart,
        images=record.node_images,
        releases=(),
    )
    if record.chart is None:
        return found
    replicas = min(2, max(1, nodes))
    made = _cilium if name == "cilium" else _calico
    releases = made(found, version=record.chart_version, pod_cidr=pod_cidr, api=api, images=images, replicas=replicas)
    return replace(found, releases=releases)


def _cilium(
    plan: CniPlan, *, version: str, pod_cidr: str, api: tuple[str, int], images: dict[str, str], replicas: int
) -> tuple[ReleasePlan, ...]:
    tunnel: dict[str, Any] = {
        "routingMode": "tunnel", "tunnelProtocol": plan.backend, "tunnelPort": plan.port,
    }  # fmt: skip
    routes: dict[str, Any] = {
        "routingMode": "native", "autoDirectNodeRoutes": True, "ipv4NativeRoutingCIDR": pod_cidr,
    }  # fmt: skip
    values: dict[str, Any] = {
        "k8sServiceHost": api[0],
        "k8sServicePort": str(api[1]),
        **(routes if plan.backend == "host-gw" else tunnel),
        "MTU": plan.mtu + plan.overhead,  # the wire's MTU: the agent subtracts the tunnel overhead
        "ipam": {"mode": "kubernetes"},  # each node's pod CIDR, as the controller manager allots it
        "k8s": {"requireIPv4PodCIDR": True},
        "kubeProxyReplacement": "false",
        "image": {"override": images["cilium"]},
        "operator": {"image": {"override": images["cilium-operator"]}, "replicas": replicas, "rollOutPods": True},
        "rollOutCiliumPods": True,
        # Each needs further images, and pods reach each other without them.
        "envoy": {"enabled": False},
        "l7Proxy": False,
        "hubble": {"enabled": False},
    }
    return (_release("cilium", "cilium", version, "kube-system", values),)


def _calico(
    plan: CniPlan, *, version: str, pod_cidr: str, api: tuple[str, int], images: dict[str, str], replicas: int
) -> tuple[ReleasePlan, ...]:
    registry, _, operator = images["calico-operator"].partition("/")
    image, _, tag = operator.rpartition(":")
    routed = plan.backend == "host-gw"
    values: dict[str, Any] = {
        "tigeraOperator": {"registry": registry, "image": image, "version": tag},
        "kubernetesServiceEndpoint": {"host": api[0], "port": str(api[1])},
        "installation": {
            # The operator has the names and versions of its images built in; they are below the site's registry.
            "registry": f"{registry}/",
            "imagePath": versions.CALICO_PATH,
            "cni": {"type": "Calico", "ipam": {"type": "Calico"}},
            "calicoNetwork": {
                "bgp": "Enabled" if routed else "Disabled",
                "linuxDataplane": "Nftables",  # as kube-proxy: both must use the same
                "mtu": plan.mtu,
                "nodeAddressAutodetectionV4": {"kubernetes": "NodeInternalIP"},
                "ipPools": [
                    {
                        "name": "default-ipv4-ippool",
                        "cidr": pod_cidr,
                        "encapsulation": "None" if routed else "VXLAN",
                        "natOutgoing": "Enabled",
                        "nodeSelector": "all()",
                    }
                ],
            },
            "controlPlaneReplicas": replicas,
            "flexVolumePath": "None",
            "kubeletVolumePluginPath": "None",
        },
        "apiServer": {"enabled": False},
        "goldmane": {"enabled": False},
        "whisker": {"enabled": False},
    }
    # CRDs come first, in their own chart: Helm never upgrades a chart's crds/.
    return (
        _release("calico-crds", "crd.projectcalico.org.v1", version, CALICO_NAMESPACE, {}),
        _release("calico", "tigera-operator", version, CALICO_NAMESPACE, values, "calico-crds"),
    )


def _release(name: str, chart: str, version: str, namespace: str, values: dict[str, Any], *needs: str) -> ReleasePlan:
    return ReleasePlan(
        name=name, chart=chart, version=version, namespace=namespace, needs=needs, verify="workloads", values=values
    )
