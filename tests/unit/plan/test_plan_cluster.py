"""The plan's cluster, pod network, OVN and services."""

from __future__ import annotations

import json
from collections.abc import Callable
from graphlib import TopologicalSorter

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import (
    Plan,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.platform.ovn import election_timer
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import RECORDS, of_kind


def test_the_lab_runs_keystone_on_what_it_needs(plan_of: Callable[..., Plan]) -> None:
    releases = {release.name: release for release in plan_of("lab").openstack.releases}
    assert list(releases) == ["mariadb", "memcached", "rabbitmq", "keystone"]
    assert releases["mariadb"].needs == ()
    assert "mariadb" in releases["keystone"].needs
    assert all(release.version == "2026.1.0" and release.values for release in releases.values())


def test_encapsulation_is_taken_from_the_pods_mtu(plan_of: Callable[..., Plan]) -> None:
    assert plan_of("lab").kubernetes.cni.mtu == 1450
    assert plan_of("lab", {"kubernetes/cni_backend": "host-gw"}).kubernetes.cni.mtu == 1500


def test_pods_have_the_mtu_of_the_plane_that_a_nodes_own_address_is_on(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("lab", {"networks/cluster": {"cidr": "10.91.0.0/24", "mtu": 9000}})
    assert plan.hosts["worker-1"].address.startswith("10.90.0.")
    assert plan.kubernetes.cni.mtu == 1450


def test_the_tenants_network_is_in_the_plan_as_written_and_as_it_follows(plan_of: Callable[..., Plan]) -> None:
    ovn = plan_of("region", {"ovn/distributed_floating_ip": False, "ovn/tunnel_ids": "2-99"}).ovn
    assert (ovn.distributed_floating_ip, ovn.tunnel_ids) == (False, "2-99")
    assert ovn.tenant_mtu == 9000 - 20 - 38
    assert plan_of("edge").ovn.bridge_mappings == {"physnet1": "provider"}
    assert plan_of("region", {"ovn/tenant_mtu": 1500}).ovn.tenant_mtu == 1500


def test_ovns_databases_are_on_every_control_host_and_patient_by_the_number_of_chassis(
    plan_of: Callable[..., Plan],
) -> None:
    ovn = plan_of("lab", {"machines/control/count": 3}).ovn
    assert ovn.northbound == ("ssl:10.90.0.16:6641", "ssl:10.90.0.17:6641", "ssl:10.90.0.18:6641")
    assert ovn.southbound[0] == "ssl:10.90.0.16:16642"
    assert [election_timer(chassis) for chassis in (0, 100, 101, 501, 5000)] == [4000, 4000, 8000, 16000, 16000]


@pytest.mark.parametrize(
    ("name", "backend", "mtu", "port"),
    [
        ("cilium", "vxlan", 1450, 8472),
        ("cilium", "geneve", 1450, 6081),
        ("cilium", "host-gw", 1500, None),
        ("calico", "vxlan", 1450, 4789),
        ("calico", "host-gw", 1500, None),
    ],
)
def test_a_pod_network_by_chart_is_given_what_the_plan_decides(
    plan_of: Callable[..., Plan], name: str, backend: str, mtu: int, port: int | None
) -> None:
    plan = plan_of("lab", {"kubernetes/cni": name, "kubernetes/cni_backend": backend})
    cni = plan.kubernetes.cni
    assert (cni.mtu, cni.port) == (mtu, port)
    values = json.dumps(cni.releases[-1].values)
    for decided in (plan.edge.address, "6443", plan.supply.registry):
        assert decided in values
    assert (plan.kubernetes.pod_cidr in values) == (name == "calico" or backend == "host-gw")
    assert "quay.io" not in values
    assert set(cni.images) < set(plan.supply.images)
    assert plan.supply.chosen == (f"cni-{name}", "packages-13")
    assert not [image for image in plan.supply.images if image.startswith("flannel")]
    if name == "cilium":
        assert cni.releases[0].values["MTU"] == 1500  # the wire's: the agent subtracts the tunnel by itself
    else:
        assert cni.releases[1].values["installation"]["calicoNetwork"]["mtu"] == mtu


def test_the_dns_service_has_the_tenth_address(plan_of: Callable[..., Plan]) -> None:
    assert plan_of("lab").kubernetes.dns_address == "10.233.0.10"


def test_every_service_has_an_endpoint_of_its_own(plan_of: Callable[..., Plan]) -> None:
    names = [record.name for record in of_kind("service")]
    endpoints = plan_of("lab", {"openstack/services": names}).edge.endpoints
    assert [endpoint.service for endpoint in endpoints] == [name for name in names for _ in RECORDS[name].apis]
    for what in ("name", "node_port", "type"):
        values = [getattr(endpoint, what) for endpoint in endpoints if endpoint.node_port or what != "node_port"]
        assert len(set(values)) == len(values)
    assert {one.service: one.url for one in endpoints}["keystone"] == "https://identity.lab.test/v3"
    assert {endpoint.service for endpoint in endpoints if not endpoint.node_port} == {"ceph-rgw"}, "its hosts serve it"
    assert all(30000 <= endpoint.node_port <= 32767 for endpoint in endpoints if endpoint.node_port)


def test_services_need_only_services_there_are() -> None:
    names = {record.name for record in of_kind("service")}
    for record in RECORDS.values():
        assert set(record.needs) <= names, record.name


def test_no_service_needs_itself_by_any_way() -> None:
    order = list(TopologicalSorter({record.name: record.needs for record in of_kind("service")}).static_order())
    assert order.index("keystone") == 0
    assert order.index("nova") > order.index("neutron")


def test_control_and_workers_are_labelled_for_openstack_and_others_are_no_nodes(plan_of: Callable[..., Plan]) -> None:
    hosts = plan_of("lab").hosts
    for name in ("control-1", "worker-1"):
        assert hosts[name].node_labels["openstack-control-plane"] == "enabled"
        assert hosts[name].node_labels["openstack-storage"] == "enabled"
        assert hosts[name].node_taints == ()
    assert hosts["seed-1"].node_labels == {}
    assert plan_of("region").hosts["hypervisor-r1-1"].node_labels == {}


def test_a_group_of_no_workers_does_not_keep_pods_off_control_hosts(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("region", {"machines/worker": {"count": 0}})
    assert plan.hosts["control-1"].node_taints == ()
    assert plan.hosts["control-1"].node_labels["openstack-control-plane"] == "enabled"
    assert not [finding.what for finding in plan.findings if finding.severity == "error"]


def test_a_regions_control_hosts_are_tainted_once_there_are_workers(plan_of: Callable[..., Plan]) -> None:
    alone = plan_of("region").hosts["control-1"]
    assert alone.node_taints == ()
    assert alone.node_labels["openstack-control-plane"] == "enabled"
    beside = plan_of("region", {"machines/worker": {"count": 3, "racks": ["c1", "c2", "c3"]}}).hosts
    assert beside["control-1"].node_taints == ("node-role.kubernetes.io/control-plane:NoSchedule",)
    assert "openstack-control-plane" not in beside["control-1"].node_labels
    assert beside["worker-1"].node_labels["openstack-control-plane"] == "enabled"


def test_overrides_reach_the_releases_values(plan_of: Callable[..., Plan]) -> None:
    override = {"keystone": {"why": "a test", "values": {"pod": {"replicas": {"api": 7}}}}}
    releases = {r.name: r for r in plan_of("lab", {"openstack/overrides": override}).openstack.releases}
    assert releases["keystone"].values["pod"]["replicas"]["api"] == 7


def test_a_chart_version_of_the_site_file_wins(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("lab", {"openstack/chart_versions": {"mariadb": "2026.1.7"}})
    versions = {release.name: release.version for release in plan.openstack.releases}
    assert (versions["mariadb"], versions["keystone"]) == ("2026.1.7", "2026.1.0")
