"""What the plan decides about names, the cluster, the edge, supply and releases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import (
    Plan,
    build_site,
    defaults,
    load_site,
    make_plan,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.serial import site_vars
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.platform.ovn import election_timer
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import RECORDS, of_kind

ROOT = Path(__file__).resolve().parents[3]


def test_the_lab_runs_keystone_on_what_it_needs(plan_of: Callable[..., Plan]) -> None:
    releases = {release.name: release for release in plan_of("lab").openstack.releases}
    assert list(releases) == ["mariadb", "memcached", "rabbitmq", "keystone"]
    assert releases["mariadb"].needs == ()
    assert "mariadb" in releases["keystone"].needs
    assert all(release.version == "2026.1.0" and release.values for release in releases.values())


def test_public_names_are_on_the_virtual_ip_and_the_registry_on_the_seed(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("lab")
    assert plan.host.names == {
        "kubernetes.lab.test": "10.90.0.2",
        "identity.lab.test": "10.90.0.2",
        "registry.lab.test": "10.90.0.8",
        "seed-1.lab.test": "10.90.0.8",
        "control-1.lab.test": "10.90.0.16",
    }


def test_names_do_not_grow_with_hypervisors(plan_of: Callable[..., Plan]) -> None:
    assert len(plan_of("region").host.names) < 12


def test_images_come_from_the_registry_under_kubeadms_names(plan_of: Callable[..., Plan]) -> None:
    images = plan_of("lab").supply.images
    assert images["kube-apiserver"] == "registry.lab.test:5000/kubernetes/kube-apiserver:v1.36.3"
    assert images["etcd"] == "registry.lab.test:5000/kubernetes/etcd:3.6.8-0"
    assert images["coredns"] == "registry.lab.test:5000/kubernetes/coredns:v1.14.2"
    assert images["pause"] == "registry.lab.test:5000/kubernetes/pause:3.10.2"
    assert images["openstack"] == "registry.lab.test:5000/groundup/openstack:2026.1"


def test_the_seed_serves_with_tls_and_only_networks_of_the_site(plan_of: Callable[..., Plan]) -> None:
    other = {"cluster": {"cidr": "10.91.0.0/24"}, "storage": {"cidr": "10.92.0.0/24"}}
    supply = plan_of("lab", {f"networks/{name}": network for name, network in other.items()}).supply
    assert supply.readers == ("10.90.0.0/24", "10.91.0.0/24")
    assert (supply.registry_tls, supply.files_url) == (True, "https://registry.lab.test:8080")


def test_a_registry_of_the_sites_own_needs_no_seed(plan_of: Callable[..., Plan], gone: object) -> None:
    plan = plan_of(
        "lab",
        {
            "supply/registry": "images.example.org:443",
            "supply/files_url": "https://f.example.org",
            "machines/seed": gone,
        },
    )
    assert plan.supply.seed is None
    assert all(reference.startswith("images.example.org:443/") for reference in plan.supply.images.values())
    assert plan.findings == ()


@pytest.mark.parametrize(
    ("changes", "source", "releases"),
    [
        ({}, "seed", ("13",)),
        ({"hosts/debian_releases": ["12", "13"]}, "seed", ("12", "13")),
        ({"hosts/packages_url": "http://mirror.example.org/debian"}, "mirror", ()),
        ({"hosts/packages": "host"}, "host", ()),
        ({"supply/registry": "r.example.org:443"}, "host", ()),
    ],
)
def test_packages_come_from_the_mirror_that_is_written_else_the_seed_else_the_hosts_own_sources(
    plan_of: Callable[..., Plan], changes: dict[str, object], source: str, releases: tuple[str, ...]
) -> None:
    host = plan_of("lab", changes).host
    assert (host.packages, host.debian_releases) == (source, releases)


def test_the_first_control_host_does_not_depend_on_the_order_of_the_file(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("lab", {"machines/control": {"names": ["c-3", "c-1", "c-2"]}})
    assert plan.kubernetes.first_control == "c-1"
    assert plan.edge.hosts == ("c-1", "c-2", "c-3")
    assert plan.kubernetes.etcd_members == 3


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


def test_a_machine_that_is_there_already_is_known_by_the_key_the_site_file_gives(plan_of: Callable[..., Plan]) -> None:
    assert str(plan_of("edge").hosts["edge-1"].host_key).startswith("ssh-ed25519 AAAA")
    assert plan_of("lab").hosts["worker-1"].host_key is None


def test_a_registry_of_the_sites_own_may_speak_plain_http_and_the_seeds_does_not(plan_of: Callable[..., Plan]) -> None:
    own = {"supply/registry": "images.example.org:443", "supply/files_url": "https://f.example.org"}
    assert plan_of("lab", {"supply/registry_tls": False}).supply.registry_tls is True
    assert plan_of("lab", own).supply.registry_tls is True
    assert plan_of("lab", {**own, "supply/registry_tls": False}).supply.registry_tls is False


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


def test_the_lab_differs_only_in_words_any_site_can_use(plan_of: Callable[..., Plan]) -> None:
    lab = plan_of("lab").kubernetes
    words = {
        "kubernetes/kubelet": {
            "failSwapOn": False,
            "failCgroupV1": False,
            "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1Gi", "imagefs.available": "1Gi"},
            "imageGCHighThresholdPercent": 100,
        },
        "kubernetes/ignore_preflight": ["SystemVerification"],
    }
    edge = plan_of("edge", words).kubernetes
    assert (lab.kubelet, lab.ignore_preflight) == (edge.kubelet, edge.ignore_preflight)
    assert plan_of("edge").kubernetes.ignore_preflight == ()


def test_a_machine_with_a_controller_is_provisioned_from_power_off(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("region")
    assert plan.hosts["control-1"].provisioner == "ironic"
    assert plan.hosts["seed-1"].provisioner == "existing"
    assert plan_of("lab").hosts["control-1"].provisioner == "container"


def test_overrides_reach_the_releases_values(plan_of: Callable[..., Plan]) -> None:
    override = {"keystone": {"why": "a test", "values": {"pod": {"replicas": {"api": 7}}}}}
    releases = {r.name: r for r in plan_of("lab", {"openstack/overrides": override}).openstack.releases}
    assert releases["keystone"].values["pod"]["replicas"]["api"] == 7


def test_a_chart_version_of_the_site_file_wins(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("lab", {"openstack/chart_versions": {"mariadb": "2026.1.7"}})
    versions = {release.name: release.version for release in plan.openstack.releases}
    assert (versions["mariadb"], versions["keystone"]) == ("2026.1.7", "2026.1.0")


def test_the_same_site_gives_the_same_plan_and_picture_whatever_order_sets_have() -> None:
    program = """
import sys
from pathlib import Path
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan, to_json
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.topology import topology_svg
plan = make_plan(load_site(Path(sys.argv[1])))
print(to_json(plan), topology_svg(plan))
"""
    command = [sys.executable, "-c", program, str(ROOT / "inventories/region/site.yml")]
    seeds = [{**os.environ, "PYTHONHASHSEED": seed} for seed in ("1", "2")]
    assert len({subprocess.run(command, check=True, capture_output=True, env=env).stdout for env in seeds}) == 1


def test_what_is_not_written_is_listed_and_what_is_written_is_not() -> None:
    data = yaml.safe_load((ROOT / "inventories/lab/site.yml").read_text())
    site = build_site(data)
    found = defaults(site, make_plan(site))
    assert found["edge.address"] == "10.90.0.2"
    assert found["openstack.replicas.mariadb"] == "1"
    assert "kubernetes.cni" not in found
    written = build_site({**data, "edge": {"address": "10.90.0.3", "router_id": 7}})
    assert not {"edge.address", "edge.router_id"} & set(defaults(written, make_plan(written)))


def test_what_ansible_templates_often_is_small_and_has_no_hosts(plan_of: Callable[..., Plan]) -> None:
    assert "hosts" not in (small := site_vars(plan_of("region")))
    assert all("values" not in release for release in small["openstack"]["releases"])
    assert len(json.dumps(small)) < 18_000


def test_a_site_of_ten_thousand_hosts_is_planned_without_an_error() -> None:
    data = yaml.safe_load((ROOT / "inventories/region/site.yml").read_text())
    for number, name in enumerate(data["networks"]):
        if name != "provider":
            data["networks"][name]["cidr"] = f"10.{96 + number * 2}.0.0/15"
    data["racks"] |= {f"r{n}": {} for n in range(1, 251)}
    data["machines"]["hypervisor"]["racks"] = [f"r{n}" for n in range(1, 251)]
    plan = make_plan(build_site(data))
    assert len(plan.hosts) == 10_007
    assert [f for f in plan.findings if f.severity == "error"] == []


def test_only_hosts_with_their_own_kernel_get_more_instances_of_inotify() -> None:
    name = "fs.inotify.max_user_instances"
    assert [
        name in make_plan(load_site(ROOT / "inventories" / one / "site.yml")).host.sysctl for one in ("edge", "lab")
    ] == [True, False]
