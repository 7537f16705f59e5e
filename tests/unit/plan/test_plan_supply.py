"""The plan's registry, file server, images and packages."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import (
    Plan,
)


def test_public_names_are_on_the_virtual_ip_and_the_registry_on_the_seed(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("lab")
    assert plan.host.names == {
        "kubernetes.lab.test": "10.90.0.2",
        "identity.lab.test": "10.90.0.2",
        "registry.lab.test": "10.90.0.8",
        "seed-1.lab.test": "10.90.0.8",
        "control-1.lab.test": "10.90.0.16",
    }


def test_images_come_from_the_registry_under_kubeadms_names(plan_of: Callable[..., Plan]) -> None:
    images = plan_of("lab").supply.images
    assert images["kube-apiserver"] == "registry.lab.test:5000/kubernetes/kube-apiserver:v1.36.3"
    assert images["etcd"] == "registry.lab.test:5000/kubernetes/etcd:3.6.16-0"
    assert images["coredns"] == "registry.lab.test:5000/kubernetes/coredns:v1.14.2"
    assert images["pause"] == "registry.lab.test:5000/kubernetes/pause:3.10.2"
    assert images["openstack"] == "registry.lab.test:5000/groundup/openstack:2026.1"


def test_another_kubernetes_than_the_default_one_is_chosen_and_its_images_are_named(
    plan_of: Callable[..., Plan], gone: object
) -> None:
    supply = plan_of("lab", {"kubernetes/version": "1.37.2"}).supply
    assert "kubernetes-1.37.2" in supply.chosen
    assert supply.images["kube-proxy"] == "registry.lab.test:5000/kubernetes/kube-proxy:v1.37.2"
    assert supply.images["coredns"] == "registry.lab.test:5000/kubernetes/coredns:v1.14.6"
    assert "kubernetes-1.37.2" not in plan_of("lab").supply.chosen
    own = {"supply/source": "registry", "supply/registry": "r.example.org:443", "machines/seed": gone}
    files = {"supply/files_url": "https://f.example.org", "kubernetes/version": "1.37.2"}
    assert "kubernetes-1.37.2" not in plan_of("lab", own | files).supply.chosen


def test_another_openstack_than_the_default_one_is_chosen_with_its_hypervisors_and_the_same_charts(
    plan_of: Callable[..., Plan],
) -> None:
    named = {"openstack/release": "2026.2"}
    plan = plan_of("cloud", named)
    assert {"openstack-2026.2", "openstack-client-2026.2", "hypervisor-13-2026.2", "guest"} <= {*plan.supply.chosen}
    assert "openstack-more-2026.2" not in plan.supply.chosen
    assert plan.supply.images["openstack"].endswith("/groundup/openstack:2026.2")
    assert plan.hypervisor
    assert plan.hypervisor.environments["13"].startswith("hypervisor-13/2026.2/")
    assert {one.version for one in plan.openstack.releases} == {"2026.1.0"}
    assert not [one for one in plan.findings if one.severity == "error"]
    assert not [one for one in plan_of("cloud").supply.chosen if "2026.2" in one]


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


def test_a_project_of_a_registry_is_in_every_image_and_its_login_is_a_given_secret(
    plan_of: Callable[..., Plan], gone: object
) -> None:
    registry = {"supply/registry": "images.example.org:443/cloud/site", "supply/files_url": "https://f.example.org"}
    plan = plan_of("lab", {**registry, "machines/seed": gone, "supply/registry_login": True})
    assert all(one.startswith("images.example.org:443/cloud/site/") for one in plan.supply.images.values())
    assert plan.kubernetes.image_repository == "images.example.org:443/cloud/site/kubernetes"
    assert plan.supply.registry_login == "registry/login"
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


def test_a_registry_of_the_sites_own_may_speak_plain_http_and_the_seeds_does_not(plan_of: Callable[..., Plan]) -> None:
    own = {"supply/registry": "images.example.org:443", "supply/files_url": "https://f.example.org"}
    assert plan_of("lab", {"supply/registry_tls": False}).supply.registry_tls is True
    assert plan_of("lab", own).supply.registry_tls is True
    assert plan_of("lab", {**own, "supply/registry_tls": False}).supply.registry_tls is False
