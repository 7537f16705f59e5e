"""Every mistake a site file can show is found, by its name, at its key, with what to do about it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ansible_collections.groundup.cloud.plugins.plugin_utils.plan as package
import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
DIGEST = "@sha256:" + "0" * 64

# name, severity, example, changes, a key the finding points at
CASES: list[tuple[str, str, str, dict[str, Any], str]] = [
    # addresses
    ("cidr-overlap", "error", "region", {"networks/storage/cidr": "10.96.20.0/23"}, "networks.tunnel.cidr"),
    ("cidr-overlap", "error", "lab", {"kubernetes/pod_cidr": "10.90.0.0/16"}, "kubernetes.pod_cidr"),
    ("cidr-overlap", "error", "lab", {"kubernetes/service_cidr": "10.233.64.0/20"}, "kubernetes.service_cidr"),
    (
        "range-outside-network",
        "error",
        "lab",
        {"networks/management/ranges": {"worker": "10.91.0.1-10.91.0.9"}},
        "ranges.worker",
    ),
    (
        "ranges-overlap",
        "warning",
        "lab",
        {"networks/management/ranges": {"worker": "10.90.0.16-10.90.0.20"}},
        "ranges.worker",
    ),
    (
        "ranges-overlap",
        "error",
        "lab",
        {"networks/management/ranges": {"worker": "10.90.0.70-10.90.0.90", "control": "10.90.0.80-10.90.0.99"}},
        "ranges.control",
    ),
    ("address-outside-network", "error", "lab", {"edge": {"address": "10.91.0.2"}}, "edge.address"),
    ("address-outside-network", "error", "lab", {"networks/management/gateway": "10.91.0.1"}, "management.gateway"),
    (
        "address-outside-network",
        "error",
        "edge",
        {"machines/node/machines/edge-1/address": "10.1.0.1"},
        "edge-1.address",
    ),
    (
        "address-outside-network",
        "error",
        "edge",
        {"machines/node/machines/edge-1/ports": {"storage": {"address": "10.1.0.1"}}},
        "ports.storage.address",
    ),
    (
        "port-without-network",
        "error",
        "lab-ha",
        {
            "networks/storage": {"cidr": "10.97.0.0/24"},
            "machines/seed/machines": {"seed-1": {"ports": {"storage": {"address": "10.97.0.9"}}}},
        },
        "seed-1.ports.storage",
    ),
    ("unknown-network", "error", "edge", {"machines/node/machines/edge-1/ports": {"storge": {}}}, "ports.storge"),
    (
        "duplicate-address",
        "error",
        "lab",
        {"machines/worker/machines": {"worker-2": {"address": "10.90.0.16"}}},
        "worker-2",
    ),
    ("duplicate-address", "error", "lab", {"edge": {"address": "10.90.0.1"}}, "edge.address"),
    ("duplicate-address", "error", "lab", {"machines/gpu": {"roles": ["worker"], "count": 9}}, "machines.gpu"),
    ("address-range-full", "error", "lab", {"machines/worker/count": 65}, "networks.management"),
    ("address-range-full", "error", "lab", {"networks/management/cidr": "10.90.0.0/28"}, "machines.worker"),
    ("address-range-full", "error", "region", {"machines/hypervisor/offset": 400}, "machines.hypervisor"),
    # layer 2
    ("vlan-collision", "error", "region", {"networks/storage/vlan": 101}, "networks.tunnel.vlan"),
    ("vlan-in-tenant-range", "error", "region", {"networks/provider/vlan_range": "100-3999"}, "networks.storage.vlan"),
    ("vlan-in-tenant-range", "error", "region", {"ovn/vlan_range": "100-200"}, "ovn.vlan_range"),
    ("vlan-range-invalid", "error", "region", {"networks/provider/vlan_range": "1000-5000"}, "provider.vlan_range"),
    ("vlan-ranges-overlap", "error", "region", {"ovn/vlan_range": "1500-2500"}, "ovn.vlan_range"),
    ("vlan-range-missing", "error", "region", {"ovn/tenant_network": "vlan"}, "ovn.vlan_range"),
    (
        "vlan-range-without-provider",
        "error",
        "region",
        {"networks/storage/vlan_range": "2000-2100"},
        "storage.vlan_range",
    ),
    ("tunnel-id-range-invalid", "error", "region", {"ovn/tunnel_ids": "1-16777216"}, "ovn.tunnel_ids"),
    ("tunnel-id-range-invalid", "error", "region", {"ovn/tunnel_ids": "9-3"}, "ovn.tunnel_ids"),
    (
        "tunnel-id-collision",
        "info",
        "edge",
        {"networks": {"management": {"cidr": "10.95.0.0/24"}}},
        "ovn.tunnel_ids",
    ),
    ("geneve-header-too-small", "error", "region", {"ovn/max_header_size": 30}, "ovn.max_header_size"),
    ("mtu-below-encapsulation", "error", "region", {"ovn/tenant_mtu": 8950}, "networks.tunnel.mtu"),
    ("mtu-below-encapsulation", "error", "lab", {"networks/management/mtu": 1300}, "kubernetes.cni"),
    ("tenant-mtu-below-1500", "warning", "region", {"networks/tunnel/mtu": 1500}, "networks.tunnel.mtu"),
    # planes
    (
        "one-plane-for-everything",
        "error",
        "region",
        {"networks": {"management": {"cidr": "10.96.0.0/20"}, "oob": {"cidr": "10.97.0.0/20"}}},
        "networks",
    ),
    ("plane-missing", "error", "region", {"networks/storage/purpose": "cluster"}, "networks"),
    (
        "provider-network-on-control-host",
        "error",
        "region",
        {"machines/control/roles": ["control", "hypervisor"]},
        "machines",
    ),
    ("provider-network-on-control-host", "warning", "edge", {}, "machines"),
    ("bridge-mapping-without-network", "error", "region", {"ovn/bridge_mappings": {"physnet1": "tunnel"}}, "physnet1"),
    (
        "bridge-mapping-twice",
        "error",
        "region",
        {"ovn/bridge_mappings": {"a": "provider", "b": "provider"}},
        "ovn.bridge_mappings.b",
    ),
    # machines
    ("role-without-machine", "error", "lab", {"machines/control/count": 0}, "machines"),
    ("role-without-machine", "error", "lab", {"machines/seed/count": 0}, "supply.registry"),
    ("role-without-machine", "error", "region", {"machines/storage/count": 0}, "storage.backend"),
    ("role-without-machine", "error", "lab", {"openstack/services": ["nova"]}, "openstack.services"),
    ("duplicate-name", "error", "lab", {"machines/x": {"roles": ["worker"], "names": ["worker-1"]}}, "machines.x"),
    (
        "duplicate-mac",
        "error",
        "lab",
        {"machines/worker/machines": {f"worker-{n}": {"mac": "52:54:00:00:00:01"} for n in (1, 2)}},
        "machines.worker.machines.worker-1",
    ),
    (
        "duplicate-serial",
        "error",
        "lab",
        {"machines/worker/machines": {f"worker-{n}": {"serial": "A1"} for n in (1, 2)}},
        "machines.worker.machines.worker-2",
    ),
    (
        "duplicate-bmc",
        "error",
        "region",
        {"machines/storage/machines": {f"storage-{n}": {"bmc": {"address": "10.96.3.200"}} for n in (1, 2)}},
        "machines.storage.machines.storage-2",
    ),
    ("bmc-without-address", "error", "edge", {"machines/node/bmc": {"protocol": "redfish"}}, "networks"),
    ("machine-without-number", "error", "lab", {"machines/worker": {"names": ["alice"]}}, "machines.worker"),
    ("service-network-size", "error", "lab", {"kubernetes/service_cidr": "10.233.0.0/29"}, "kubernetes.service_cidr"),
    ("service-network-size", "error", "lab", {"kubernetes/service_cidr": "11.0.0.0/11"}, "kubernetes.service_cidr"),
    (
        "reserved-name",
        "error",
        "lab",
        {"machines/worker": {"names": ["absent"], "machines": {"absent": {"number": 1}}}},
        "machines",
    ),
    (
        "reserved-name",
        "error",
        "lab",
        {"machines/control": {"names": ["identity"], "machines": {"identity": {"number": 1}}}},
        "machines",
    ),
    (
        "reserved-name",
        "error",
        "lab",
        {"machines/control": {"names": ["registry"], "machines": {"registry": {"number": 1}}}},
        "machines",
    ),
    ("rack-block-full", "error", "region", {"machines/hypervisor/per_rack": 65}, "machines.hypervisor.slots_per_rack"),
    (
        "unknown-machine",
        "error",
        "lab",
        {"machines/worker/machines": {"worker-9": {}}},
        "machines.worker.machines.worker-9",
    ),
    ("unknown-rack", "error", "lab-ha", {"machines/seed/rack": "r9"}, "machines.seed"),
    ("unknown-rack", "error", "lab-ha", {"machines/seed/machines": {"seed-1": {"rack": "r9"}}}, "seed-1.rack"),
    ("unknown-hardware", "error", "lab", {"machines/worker/hardware": "lab-wm"}, "machines.worker.hardware"),
    ("unknown-hardware", "error", "lab", {"machines/seed/machines": {"seed-1": {"hardware": "x"}}}, "seed-1.hardware"),
    ("reserved-name", "error", "lab", {"machines/x": {"roles": ["worker"], "names": ["control"]}}, "machines"),
    ("reserved-name", "error", "lab", {"machines/x": {"roles": ["worker"], "names": ["refused"]}}, "machines"),
    ("duplicate-rack-number", "error", "region", {"racks/r2/number": 1}, "racks.r1"),
    ("hardware-too-small", "error", "region", {"machines/control/hardware": "edge-node"}, "hardware.edge-node"),
    ("hardware-too-small", "warning", "edge", {"machines/node/hardware": "lab-vm"}, "hardware.lab-vm"),
    (
        "tenants-on-infrastructure",
        "error",
        "region",
        {"machines/control/roles": ["control", "hypervisor"]},
        "machines.control",
    ),
    ("tenants-on-infrastructure", "info", "edge", {}, "machines.node.machines.edge-1"),
    (
        "required-machines",
        "warning",
        "region",
        {"machines/control/max_unavailable": 1},
        "machines.control.max_unavailable",
    ),
    # quorums and failure domains
    ("even-quorum", "warning", "lab", {"machines/control/count": 2}, "machines.control"),
    ("even-quorum", "error", "region", {"machines/control/count": 4}, "machines.control"),
    ("even-quorum", "error", "region", {"openstack/replicas": {"mariadb": 2}}, "openstack.replicas.mariadb"),
    ("even-quorum", "error", "region", {"storage/monitors": 4, "machines/storage/count": 4}, "storage.monitors"),
    ("small-quorum", "error", "region", {"machines/control/count": 1}, "machines.control"),
    ("small-quorum", "error", "region", {"openstack/replicas": {"rabbitmq": 1}}, "openstack.replicas.rabbitmq"),
    (
        "quorum-larger-than-hosts",
        "error",
        "region",
        {"openstack/replicas": {"mariadb": 5}},
        "openstack.replicas.mariadb",
    ),
    ("quorum-larger-than-hosts", "error", "region", {"storage/monitors": 5}, "storage.monitors"),
    ("single-memcached", "warning", "region", {"openstack/replicas": {"memcached": 1}}, "openstack.replicas.memcached"),
    ("replicas-do-not-fit", "error", "region", {"storage/replicas": 4}, "storage.replicas"),
    ("replicas-do-not-fit", "error", "region", {"storage/pools": {"images": {"replicas": 5}}}, "storage.pools.images"),
    ("replicas-do-not-fit", "error", "region", {"storage/failure_domain": "room", "racks/c2/room": "east"}, "machines"),
    ("quorum-in-one-failure-domain", "error", "region", {"machines/control/racks": ["c1"]}, "machines.control"),
    ("quorum-in-one-failure-domain", "warning", "region", {"machines/control/racks": ["c1", "c2"]}, "machines.control"),
    # storage
    ("hostpath-in-production", "error", "region", {"storage": {"backend": "none"}}, "storage.volumes"),
    ("hostpath-in-production", "error", "region", {"storage/volumes": "local"}, "storage.volumes"),
    ("volumes-without-backend", "error", "lab", {"storage/volumes": "ceph-rbd"}, "storage.backend"),
    (
        "one-pool-for-everything",
        "error",
        "region",
        {"storage/pools": {"volumes": {"name": "rbd"}, "images": {"name": "rbd"}, "vms": {"name": "rbd"}}},
        "storage.pools.images",
    ),
    ("laptop-ceph", "error", "region", {"machines/storage/count": 1}, "machines.storage"),
    ("too-few-replicas", "error", "region", {"storage/replicas": 1}, "storage.replicas"),
    (
        "too-few-replicas",
        "warning",
        "region",
        {"storage/pools": {"vms": {"replicas": 2}}},
        "storage.pools.vms.replicas",
    ),
    # the cluster
    ("openstack-on-tenant-cluster", "error", "lab", {"kubernetes/serves": "tenants"}, "kubernetes.serves"),
    ("cni-not-built", "info", "lab", {"kubernetes/cni": "cilium"}, "kubernetes.cni"),
    ("cni-backend-unknown", "error", "lab", {"kubernetes/cni_backend": "geneve"}, "kubernetes.cni_backend"),
    (
        "cni-backend-unknown",
        "error",
        "lab",
        {"kubernetes/cni": "calico", "kubernetes/cni_backend": "geneve"},
        "kubernetes.cni_backend",
    ),
    (
        "mtu-below-encapsulation",
        "error",
        "lab",
        {"kubernetes/cni": "calico", "networks/management/mtu": 1300},
        "kubernetes.cni",
    ),
    (
        "mtu-below-encapsulation",
        "error",
        "lab",
        {"kubernetes/cni": "cilium", "kubernetes/cni_backend": "geneve", "networks/management/mtu": 1300},
        "kubernetes.cni",
    ),
    (
        "tunnel-port-collision",
        "error",
        "region",
        {"kubernetes/cni_backend": "geneve", "machines/hypervisor/roles": ["hypervisor", "worker"]},
        "kubernetes.cni_backend",
    ),
    (
        "image-not-replaceable",
        "error",
        "lab",
        {"kubernetes/cni": "calico", "supply/images": {"calico-node": "registry.test:5000/calico/node:v3.32.1"}},
        "supply.images.calico-node",
    ),
    ("pod-network-too-small", "error", "lab", {"kubernetes/pod_cidr": "10.233.64.0/23"}, "kubernetes.pod_cidr"),
    ("no-audit", "warning", "region", {"kubernetes/audit": False}, "kubernetes.audit"),
    ("no-encrypt-secrets", "warning", "region", {"kubernetes/encrypt_secrets": False}, "kubernetes.encrypt_secrets"),
    ("kubelet-check-off", "warning", "region", {"kubernetes/kubelet": {"failSwapOn": False}}, "kubelet.failSwapOn"),
    # services
    ("unknown-service", "error", "lab", {"openstack/services": ["keystone", "keystnoe"]}, "openstack.services"),
    ("service-without-its-needs", "error", "lab", {"openstack/services": ["glance"]}, "openstack.services"),
    ("dashboard-first", "error", "lab", {"openstack/services": ["horizon"]}, "openstack.services"),
    ("service-not-built-in", "warning", "lab", {"openstack/services": ["keystone", "manila"]}, "openstack.services"),
    ("needless-magnum", "warning", "lab", {"openstack/services": ["keystone", "magnum"]}, "openstack.services"),
    (
        "override-without-release",
        "error",
        "lab",
        {"openstack/overrides": {"x": {"why": "w", "values": {}}}},
        "overrides.x",
    ),
    (
        "undocumented-values",
        "warning",
        "lab",
        {"openstack/overrides": {"keystone": {"values": {}}}},
        "overrides.keystone",
    ),
    (
        "router-id-guessed",
        "warning",
        "lab",
        {"networks/management/cidr": "10.90.0.0/23", "edge": {"address": "10.90.1.0"}},
        "edge.router_id",
    ),
    # versions
    ("version-not-in-matrix", "error", "lab", {"kubernetes/version": "1.35.0"}, "kubernetes.version"),
    ("version-not-in-matrix", "error", "lab", {"openstack/release": "2019.2"}, "openstack.release"),
    ("unpinned-chart", "error", "lab", {"openstack/chart_versions": {"keystone": "latest"}}, "chart_versions.keystone"),
    (
        "chart-release-mismatch",
        "error",
        "lab",
        {"openstack/chart_versions": {"keystone": "2025.2.0"}},
        "openstack.release",
    ),
    ("chart-not-in-matrix", "warning", "lab", {"openstack/chart_versions": {"zun": "2026.1.0"}}, "chart_versions.zun"),
    ("charts-without-tls", "error", "lab", {"openstack/charts": "http://charts.example.org"}, "openstack.charts"),
    (
        "unknown-image",
        "error",
        "lab",
        {"supply/images": {"keystone": "r.example/k:1" + DIGEST}},
        "supply.images.keystone",
    ),
    (
        "image-latest",
        "error",
        "lab",
        {"supply/images": {"mariadb": "r.example:5000/m:latest"}},
        "supply.images.mariadb",
    ),
    ("image-latest", "error", "lab", {"supply/images": {"mariadb": "r.example:5000/m"}}, "supply.images.mariadb"),
    ("image-unpinned", "warning", "lab", {"supply/images": {"mariadb": "r.example/m:11.8"}}, "supply.images.mariadb"),
    (
        "image-release-mismatch",
        "error",
        "lab",
        {"supply/images": {"openstack": "r.example/o:2025.2"}},
        "openstack.release",
    ),
    # who serves the site
    ("files-url-missing", "error", "lab", {"supply/registry": "r.example.org:443"}, "supply.files_url"),
    ("registry-missing", "error", "lab", {"supply/source": "registry"}, "supply.registry"),
    ("seed-beside-registry", "error", "lab", {"supply/registry": "r.example.org:443"}, "machines.seed"),
    ("packages-url-missing", "error", "lab", {"hosts/packages": "mirror"}, "hosts.packages_url"),
    (
        "packages-url-unused",
        "error",
        "lab",
        {"hosts/packages": "host", "hosts/packages_url": "http://mirror.example.org/debian"},
        "hosts.packages",
    ),
    (
        "packages-without-seed",
        "error",
        "lab",
        {"hosts/packages": "seed", "supply/registry": "r.example.org:443"},
        "supply.registry",
    ),
    ("several-seeds", "error", "lab", {"machines/seed/count": 2}, "machines.seed"),
    ("files-url-not-the-seeds", "error", "lab", {"supply/files_url": "https://f.example.org"}, "supply.files_url"),
    ("files-url-not-the-seeds", "error", "lab", {"supply/files_url": "http://f.example.org:8080"}, "supply.files_url"),
    ("ca-without-registry", "error", "lab", {"supply/ca": CERTIFICATE}, "supply.ca"),
    (
        "supply-ca-unused",
        "error",
        "lab",
        {
            "supply/ca": CERTIFICATE,
            "supply/registry": "r.example.org:5000",
            "supply/registry_tls": False,
            "supply/files_url": "http://r.example.org:8080",
        },
        "supply.ca",
    ),
    ("packages-ca-unused", "error", "lab", {"hosts/packages_ca": CERTIFICATE}, "hosts.packages_ca"),
    (
        "packages-ca-unused",
        "error",
        "lab",
        {"hosts/packages_ca": CERTIFICATE, "hosts/packages_url": "http://mirror.example.org/debian"},
        "hosts.packages_url",
    ),
    ("seed-port-taken", "error", "lab", {"supply/files_url": "https://registry.lab.test:5000"}, "supply.files_url"),
    ("seed-port-taken", "error", "lab", {"supply/files_url": "https://registry.lab.test:5001"}, "supply.files_url"),
    ("seed-port-taken", "error", "lab", {"supply/files_url": "https://registry.lab.test:22"}, "supply.files_url"),
    ("seed-port-taken", "error", "edge", {"supply/files_url": "https://registry.x.test:6443"}, "supply.files_url"),
    # what comes from outside
    ("needs-way-out", "warning", "lab", {"supply/source": "upstream"}, "supply.source"),
    # what preflight asks of machines
    ("hardware-needed", "info", "region", {}, "machines"),
    # how the controller knows the machines
    ("host-key-missing", "warning", "edge", {"access": {}}, "access.host_keys"),
    ("unknown-machine", "error", "edge", {"access/host_keys": {"edge-2": "ssh-ed25519 AAAA"}}, "host_keys.edge-2"),
    # what this version does not build
    ("not-in-this-version", "error", "lab", {"edge": {"kind": "gateway-api"}}, "edge.kind"),
    ("not-in-this-version", "warning", "edge", {"storage/backend": "rook"}, "storage.backend"),
    ("not-in-this-version", "warning", "lab", {"machines/worker/provisioner": "ironic"}, "machines"),
    ("not-in-this-version", "warning", "lab", {"networks/cluster": {"cidr": "10.91.0.0/24"}}, "networks.cluster"),
    ("not-in-this-version", "warning", "lab", {"ovn/tenant_network": "flat"}, "ovn"),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{case[0]}-{case[2]}-{n}" for n, case in enumerate(CASES)])
def test_a_mistake_is_found_at_its_key(
    plan_of: Callable[..., Plan], case: tuple[str, str, str, dict[str, Any], str]
) -> None:
    name, severity, base, changes, key = case
    findings = [finding for finding in plan_of(base, changes).findings if finding.name == name]
    assert findings, f"{name} was not found"
    assert severity in {finding.severity for finding in findings}
    assert any(key in where for finding in findings for where in finding.where), [finding.where for finding in findings]
    assert all(finding.what and finding.why and finding.remedy for finding in findings)


def test_a_region_says_what_it_needs_and_what_this_version_does_not_build(plan_of: Callable[..., Plan]) -> None:
    every = {finding.name: finding for finding in plan_of("region").findings}
    assert set(every) == {"not-in-this-version", "hardware-needed", "cni-not-built"}
    assert "1 x region-seed: 8 cores, 32 GiB, 10 Gbit/s;" in every["hardware-needed"].what
    found = [finding for finding in plan_of("region").findings if finding.name == "not-in-this-version"]
    assert {(finding.name, finding.severity) for finding in found} == {("not-in-this-version", "warning")}
    said = [(finding.where, finding.what.partition(": ")[2].partition(",")[0]) for finding in found]
    assert said == [
        (("machines",), "hypervisors"),
        (("machines",), "machines from power-off by Ironic"),
        (("networks.cluster",), "a network of its own for pods' packets"),
        (("ovn",), "the tenants' network (ovn)"),
        (("storage.backend",), "Ceph on the site's storage hosts"),
    ]


@pytest.mark.parametrize("base", ["lab", "lab-ha"])
def test_example_sites_have_no_findings(plan_of: Callable[..., Plan], base: str) -> None:
    assert plan_of(base).findings == ()


def test_every_finding_has_a_case_here() -> None:
    source = "\n".join(path.read_text() for path in Path(package.__file__).parent.rglob("*.py"))
    named = set(
        re.findall(r'(?:error|warning|info|finding|_used_twice|_unknown)\(\s*"([a-z]+(?:-[a-z0-9]+)+)"', source)
    )
    named |= set(re.findall(r'"([a-z]+(?:-[a-z]+)+)" if (?:together|dashboard) else "[a-z-]+"', source))
    named |= set(re.findall(r'if (?:together|dashboard) else "([a-z-]+)"', source))
    assert len(named) > 60
    assert named - {case[0] for case in CASES} == set()


def test_the_storage_vlan_inside_the_provider_range_is_refused_with_both_names(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(
        "region",
        {"networks/storage/vlan": 120, "networks/provider/vlan_range": "100-3999", "networks/provider/vlan": 9},
    )
    (finding,) = [f for f in plan.findings if f.name == "vlan-in-tenant-range" and "networks.storage.vlan" in f.where]
    assert finding.where == ("networks.storage.vlan", "networks.provider.vlan_range")
    assert "VLAN 120 of storage is inside 100-3999" in finding.what


def test_a_rack_that_is_full_is_told_once_and_not_as_a_name_without_a_number(plan_of: Callable[..., Plan]) -> None:
    found = plan_of("region", {"machines/hypervisor/per_rack": 66}).findings
    assert "machine-without-number" not in {one.name for one in found}
    (finding,) = [one for one in found if one.name == "rack-block-full"]
    assert finding.what == "hypervisor-r1-65 and 15 more have no address: a rack's block has 64 places"


def test_a_seed_may_be_called_registry(plan_of: Callable[..., Plan]) -> None:
    seed = {"names": ["registry"], "machines": {"registry": {"number": 1}}}
    assert plan_of("lab", {"machines/seed": seed}).findings == ()


def test_errors_come_first(plan_of: Callable[..., Plan]) -> None:
    changes = {
        "machines/control/count": 2,
        "kubernetes/version": "1.35.0",
        "openstack/services": ["keystone", "manila"],
    }
    findings = plan_of("lab", changes).findings
    assert [finding.severity for finding in findings] == sorted(
        (finding.severity for finding in findings), key=("error", "warning", "info").index
    )
