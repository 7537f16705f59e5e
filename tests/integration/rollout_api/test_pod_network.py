"""Pod networks by their projects' own charts, with the plan's values, on a real API server: no node, so no pod starts.

Cilium's chart is the artifact of the lock. Calico's charts are in no package: GROUNDUP_CALICO_CHARTS names a directory
with both archives, as their release has them.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.client import Helm
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.converge import converge
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.types import ReleaseDiff
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.process import Processes

from .control_plane import ControlPlane

SITE = {
    "plugin": "groundup.cloud.site", "site": "net", "domain": "net.test", "profile": "lab",
    "networks": {"management": {"cidr": "10.93.0.0/24"}},
    "machines": {"control": {"count": 1}, "worker": {"count": 2}},
    "openstack": {"release": "2026.1", "services": ["keystone"]},
    "supply": {"source": "registry", "registry": "registry.net.test:5000", "files_url": "http://registry.net.test:8080"},
}  # fmt: skip


def plan_of(name: str, **cluster: Any) -> Plan:
    """Return the plan of a site with pod network ``name``."""
    return make_plan(build_site({**SITE, "kubernetes": {"cni": name, **cluster}}))


class Network:
    """One pod network on the control plane."""

    def __init__(self, control_plane: ControlPlane, name: str, charts: Path) -> None:
        self.name, self.lines, self._control_plane = name, list[str](), control_plane
        self.api, processes = Api(control_plane.kubeconfig), Processes()
        self._helm = Helm(
            binary=control_plane.helm, kubeconfig=control_plane.kubeconfig, charts=str(charts), processes=processes
        )

    def converge(self, releases: tuple[ReleasePlan, ...], *, check: bool = False) -> list[ReleaseDiff]:
        """Install it, or predict."""
        return converge(
            releases, version="1.36.3", api=self.api, helm=self._helm, say=self.lines.append, check=check
        )  # fmt: skip

    def remove(self, releases: tuple[ReleasePlan, ...]) -> None:
        """Uninstall it, without the jobs a chart would run at its end: no node runs them."""
        for release in reversed(releases):
            command = [str(self._control_plane.helm), "uninstall", release.name, "--namespace", release.namespace]
            command += ["--kubeconfig", str(self._control_plane.kubeconfig), "--no-hooks", "--ignore-not-found"]
            subprocess.run(command, check=True, capture_output=True)
        end = time.monotonic() + 180
        while self.api.find("/api/v1/namespaces/cilium-secrets") and time.monotonic() < end:
            time.sleep(0.3)  # the chart's own namespace: its end is the controller manager's work


def charts_of(name: str) -> Path:
    """Return where the charts are; skips, with the reason, where they are not."""
    if name == "calico":
        where = os.environ.get("GROUNDUP_CALICO_CHARTS")
        if not where:
            pytest.skip("GROUNDUP_CALICO_CHARTS is not set: Calico's charts are in no package (docs/evidence.md)")
        return Path(where)
    if supply.missing("cilium-charts"):
        pytest.skip("the cache lacks cilium-charts: `ci/supply build cilium-charts` makes it from Cilium's Go module")
    return supply.ensure("cilium-charts")["cilium-charts"].path


@pytest.fixture(params=["cilium", "calico"])
def network(request: pytest.FixtureRequest, control_plane: ControlPlane) -> Iterator[Network]:
    """Each pod network, removed again."""
    found = Network(control_plane, request.param, charts_of(request.param))
    yield found
    found.remove(plan_of(found.name).kubernetes.cni.releases)


def test_the_chart_is_installed_with_the_plans_values_and_a_second_run_changes_nothing(network: Network) -> None:
    plan = plan_of(network.name)
    releases = plan.kubernetes.cni.releases
    names = [release.name for release in releases]
    assert [diff.release for diff in network.converge(releases, check=True)] == names
    assert [diff.release for diff in network.converge(releases)] == names
    assert network.converge(releases) == []
    assert network.converge(releases, check=True) == []
    as_expected = {"cilium": _cilium_is_there, "calico": _calico_is_there}[network.name]
    as_expected(network.api, plan)


def test_a_changed_plan_changes_what_it_says_and_nothing_else(network: Network) -> None:
    network.converge(plan_of(network.name).kubernetes.cni.releases)
    routed = plan_of(network.name, cni_backend="host-gw").kubernetes.cni.releases
    predicted = network.converge(routed, check=True)
    kinds = {change.ref.kind for diff in predicted for change in diff.changes}
    assert kinds == {"cilium": {"ConfigMap", "DaemonSet", "Deployment"}, "calico": {"Installation"}}[network.name]
    assert [change.kind for diff in predicted for change in diff.changes] == ["change"] * len(predicted[0].changes)
    assert network.converge(routed) == predicted
    assert network.converge(routed) == []


def test_objects_of_somebody_else_are_refused_before_anything_is_applied(network: Network) -> None:
    release = plan_of(network.name).kubernetes.cni.releases[-1]
    name = {"cilium": "cilium-operator", "calico": "tigera-operator"}[network.name]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}}
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    network.api.request("POST", path, body=role)
    try:
        with pytest.raises(GroundupError, match=f"ClusterRole/{name} cannot be applied: it exists"):
            network.converge((release,))
        assert network.api.get("/api/v1/secrets", labelSelector=f"owner=helm,name={release.name}")["items"] == []
    finally:
        network.api.request("DELETE", f"{path}/{name}")


def test_a_chart_that_is_not_there_is_named(network: Network) -> None:
    release = replace(plan_of(network.name).kubernetes.cni.releases[0], version="0.0.1")
    with pytest.raises(GroundupError, match=f"chart {release.chart} 0.0.1 is not there"):
        network.converge((release,))


def _cilium_is_there(api: Api, plan: Plan) -> None:
    agent = api.get("/apis/apps/v1/namespaces/kube-system/daemonsets/cilium")["spec"]["template"]["spec"]
    images = {container["image"] for container in agent["containers"] + agent["initContainers"]}
    assert images == {plan.supply.images["cilium"]}
    operator = api.get("/apis/apps/v1/namespaces/kube-system/deployments/cilium-operator")["spec"]
    assert operator["replicas"] == 2
    assert operator["template"]["spec"]["containers"][0]["image"] == plan.supply.images["cilium-operator"]
    settings = api.get("/api/v1/namespaces/kube-system/configmaps/cilium-config")["data"]
    expected = {
        "routing-mode": "tunnel", "tunnel-protocol": "vxlan", "tunnel-port": "8472", "mtu": "1500",
        "ipam": "kubernetes", "kube-proxy-replacement": "false", "enable-hubble": "false", "enable-l7-proxy": "false",
    }  # fmt: skip
    assert {key: settings[key] for key in expected} == expected
    servers = {one["value"] for one in agent["containers"][0]["env"] if one["name"] == "KUBERNETES_SERVICE_HOST"}
    assert servers == {plan.edge.address}


def _calico_is_there(api: Api, plan: Plan) -> None:
    operator = api.get("/apis/apps/v1/namespaces/tigera-operator/deployments/tigera-operator")["spec"]
    assert operator["template"]["spec"]["containers"][0]["image"] == plan.supply.images["calico-operator"]
    installation = api.get("/apis/operator.tigera.io/v1/installations/default")["spec"]
    assert installation["registry"] == f"{plan.supply.registry}/"
    network = installation["calicoNetwork"]
    assert (network["mtu"], network["bgp"], network["linuxDataplane"]) == (1450, "Disabled", "Nftables")
    assert network["ipPools"][0]["cidr"] == plan.kubernetes.pod_cidr
    assert network["ipPools"][0]["encapsulation"] == "VXLAN"
    place = "/api/v1/namespaces/tigera-operator/configmaps/kubernetes-services-endpoint"
    assert api.get(place)["data"]["KUBERNETES_SERVICE_HOST"] == plan.edge.address


def test_the_module_predicts_applies_by_digest_and_then_has_nothing_to_do(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    charts_of("cilium")
    site, play, state = tmp_path / "site.yml", tmp_path / "play.yml", tmp_path / "state" / "net"
    site.write_text(json.dumps({**SITE, "kubernetes": {"cni": "cilium"}}))
    plan = plan_of("cilium")
    pinned = {reference: f"{reference}@sha256:{'a' * 64}" for reference in plan.supply.images.values()}
    options = {
        "step": "install", "site": "net", "version": "1.36.3", "charts": "{{ groundup_site.kubernetes.cni.charts }}",
        "releases": "{{ groundup_site.kubernetes.cni.releases }}", "images": pinned,
    }  # fmt: skip
    task = {"groundup.cloud.cluster": options, "register": "found"}
    shown = {"ansible.builtin.debug": {"msg": "changed={{ found.changed }}"}}
    play.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": [task, shown]}]))
    state.mkdir(parents=True)
    (state / "kubeconfig").write_bytes(control_plane.kubeconfig.read_bytes())

    def run(*flags: str) -> str:
        done = subprocess.run(
            ["ansible-playbook", "-i", site, play, *flags],
            env={**os.environ, "GROUNDUP_STATE": str(state.parent)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    network = Network(control_plane, "cilium", charts_of("cilium"))
    try:
        predicted = run("--check", "--diff")
        assert "+ cilium: DaemonSet/cilium" in predicted
        assert network.api.find("/apis/apps/v1/namespaces/kube-system/daemonsets/cilium") is None
        assert ["changed=True" in run(), "changed=False" in run(), "changed=False" in run("--check")] == [True] * 3
        agent = network.api.get("/apis/apps/v1/namespaces/kube-system/daemonsets/cilium")["spec"]["template"]["spec"]
        assert agent["containers"][0]["image"] == pinned[plan.supply.images["cilium"]]
    finally:
        network.remove(plan.kubernetes.cni.releases)
