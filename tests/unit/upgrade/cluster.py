"""A cluster by its API, a stand-in; and what its hosts say."""

from __future__ import annotations

from functools import cache
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import ApiError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.decide import ROOM
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.survey import FoundCluster, draining, survey

CONTROL, WORKERS = ("control-1", "control-2", "control-3"), ("worker-1", "worker-2")
NODES = (*CONTROL, *WORKERS)
COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
REGISTRY = "10.233.0.9:5000/kubernetes"  # an address that reads like a version
ETCD = f"{REGISTRY}/etcd:3.6.16-0@sha256:00"
METRICS = """\
# TYPE apiserver_requested_deprecated_apis gauge
apiserver_requested_deprecated_apis{group="policy",removed_release="1.37",resource="podsecurity",version="v1beta1"} 1
apiserver_requested_deprecated_apis{group="",removed_release="",resource="componentstatuses",version="v1"} 1
apiserver_requested_deprecated_apis{group="later",removed_release="1.40",resource="things",version="v1alpha1"} 1
apiserver_requested_deprecated_apis{group="never",removed_release="1.37",resource="asked",version="v1"} 0
"""


class Cluster:
    """Stands for the API of a cluster."""

    def __init__(self, *, kubelet: str = "v1.36.3", control: tuple[str, ...] = CONTROL, metrics: str = "") -> None:
        self.control, self.metrics, self.kubelet = control, metrics, kubelet
        self.nodes = (*control, *WORKERS)
        self.away = set[str]()
        self.budgets: list[dict[str, Any]] = []
        self.bare = False
        self.half: dict[str, str] = {}  # pod -> tag
        self.not_ready, self.gone = set[str](), set[str]()  # pods
        self.dns, self.proxy = "v1.14.2", "v1.36.3"
        self.recorded: str | None = "v1.36.3"  # kubeadm's configuration, as hosts that join read it
        self.kubelets: dict[str, str] = {}  # of nodes that have another one
        self.patched: dict[str, dict[str, Any]] = {}  # node -> metadata and spec
        self.evicted: list[str] = []
        self.stays = set[str]()  # pods that a budget keeps
        self.rolling = set[str]()  # add-ons that are not rolled out
        self.asked: list[str] = []

    def get(self, path: str, **query: str) -> dict[str, Any]:  # noqa: PLR0911  # one return a kind
        """Return a list."""
        self.asked.append(" ".join((path.rpartition("/")[2], *query.values())))
        if path.endswith("/poddisruptionbudgets"):
            return {"items": self.budgets}
        if path.rpartition("/")[0].endswith("/nodes"):
            return self._node(path.rpartition("/")[2])
        if path.endswith("/nodes"):
            return {"items": [self._node(name) for name in self.nodes]}
        if query.get("labelSelector") == "tier=control-plane":
            pods = [self._static(one, name) for one in ("etcd", *COMPONENTS) for name in self.control]
            return {"items": [pod for pod in pods if pod["metadata"]["name"] not in self.gone]}
        if path.endswith("/pods"):
            node = query["fieldSelector"].partition("=")[2]
            if f"web-{node}" in self.evicted:
                return {"items": []}
            owned = [] if self.bare else [{"kind": "ReplicaSet"}]
            pod = _pod(f"web-{node}", node, "web:1") | {"status": {"phase": "Running"}}
            pod["metadata"] |= {"ownerReferences": owned}
            return {"items": [pod]}
        return {"items": []}

    def find(self, path: str) -> dict[str, Any] | None:
        """Return kube-proxy or CoreDNS, or kubeadm's configuration."""
        if path.endswith("/configmaps/kubeadm-config"):
            written = f"etcd:\n  kubernetesVersion: no\nkubernetesVersion: {self.recorded}\nnetworking: {{}}\n"
            return {"data": {"ClusterConfiguration": written}} if self.recorded else None
        name = {"/daemonsets/kube-proxy": f"kube-proxy:{self.proxy}", "/deployments/coredns": f"coredns:{self.dns}"}[
            path[path.index("/kube-system/") + len("/kube-system") :]
        ]
        done = int(name.partition(":")[0] not in self.rolling)
        status = {"observedGeneration": 1, "updatedReplicas": done, "availableReplicas": 1, "desiredNumberScheduled": 1,
                  "updatedNumberScheduled": done, "numberAvailable": 1}  # fmt: skip
        spec = {"replicas": 1, "template": _pod("", "", f"{REGISTRY}/{name}@sha256:0")}
        return {"metadata": {"generation": 1}, "spec": spec, "status": status}

    def request(self, method: str, path: str, *, body: dict[str, Any], content_type: str = "") -> dict[str, Any]:
        """Evict a pod, or patch a node."""
        if method == "POST":
            pod = path.split("/")[-2]
            if pod in self.stays:
                raise ApiError("a budget keeps it", where="here", status=429)
            self.evicted.append(pod)
        else:
            assert content_type == "application/merge-patch+json"
            held = self.patched.setdefault(path.rpartition("/")[2], {"annotations": {}, "spec": {}})
            held["annotations"] |= body.get("metadata", {}).get("annotations", {})
            held["spec"] |= body["spec"]
        return {}

    def text(self, path: str) -> str:
        """Return the metrics."""
        assert path == "/metrics"
        return self.metrics

    def _static(self, component: str, node: str) -> dict[str, Any]:
        name = f"{component}-{node}"
        tag = self.half.get(name, "v1.36.3")
        pod = _pod(name, node, ETCD if component == "etcd" else f"{REGISTRY}/{component}:{tag}")
        pod["metadata"]["labels"] = {"component": component, "tier": "control-plane"}
        ready = "False" if name in self.not_ready else "True"
        return pod | {"status": {"conditions": [{"type": "Ready", "status": ready}]}}

    def _node(self, name: str) -> dict[str, Any]:
        ready = "False" if name in self.away else "True"
        held = self.patched.get(name, {"annotations": {}, "spec": {}})
        info = {
            "kubeletVersion": self.kubelets.get(name, self.kubelet),
            "containerRuntimeVersion": "containerd://1.7.24",
        }
        labels = {"node-role.kubernetes.io/control-plane": ""} if name in self.control else {}
        status = {"nodeInfo": info, "conditions": [{"type": "Ready", "status": ready}]}
        annotations = {key: value for key, value in held["annotations"].items() if value is not None}
        return {
            "metadata": {"name": name, "labels": labels, "annotations": annotations},
            "spec": held["spec"], "status": status,
        }  # fmt: skip


def _pod(name: str, node: str, image: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "kube-system", "uid": name},
            "spec": {"nodeName": node, "containers": [{"image": image}]}}  # fmt: skip


def moved(cluster: Cluster, *hosts: str, to: str = "v1.37.2") -> None:
    """Give the control planes of ``hosts`` another version."""
    cluster.half |= {f"{one}-{host}": to for one in COMPONENTS for host in hosts}


def found_in(cluster: Cluster) -> FoundCluster:
    found = survey(cluster)  # type: ignore[arg-type]  # a stand-in
    return draining(cluster, found, cluster.nodes)  # type: ignore[arg-type]  # a stand-in


@cache
def plan_of(site: str = "lab-ha", version: str = "1.37.2") -> Plan:
    written = load_site(COLLECTION / f"inventories/{site}/site.yml")
    return make_plan(
        written.model_copy(update={"kubernetes": written.kubernetes.model_copy(update={"version": version})})
    )


PROGRAMS = {"/usr/local/bin/kubelet": "Kubernetes v1.36.3\n", "/usr/local/bin/kubeadm": "v1.36.3\n"}
CONFIGURED = "/etc/kubernetes/site/kubeadm.yaml"
MANIFESTS = {f"/etc/kubernetes/manifests/{one}.yaml": f"{REGISTRY}/{one}:v1.36.3@sha256:00" for one in COMPONENTS}
FILES = {CONFIGURED: "v1.36.3", "/etc/kubernetes/manifests/etcd.yaml": ETCD, **MANIFESTS}
SAID = {
    name: {
        "room": ROOM,
        "etcd": dict.fromkeys(CONTROL, True) if name in CONTROL else {},
        "versions": PROGRAMS | (FILES if name in CONTROL else dict.fromkeys(FILES, "")),
    }
    for name in NODES
}
