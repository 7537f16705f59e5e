"""Mistakes in what a site file says of cluster, storage, services and who serves them, each with the finding it is."""

from __future__ import annotations

from typing import Any

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
DIGEST = "@sha256:" + "0" * 64

NATIVE = {"storage/backend": "native"}
FILES = {
    "hardware/files": {
        "cores": 32, "memory_gb": 256, "nic_gbps": 25, "nvme": True, "osds": [{"file": "osd", "size_gb": 9}],
    },
    "machines/storage/hardware": "files",
}  # fmt: skip

IN_CEPH = {
    "hardware/own": {
        "cores": 1, "memory_gb": 2, "nic_gbps": 1, "nvme": False,
        "compute": {"virt_type": "qemu", "datapath": "netdev", "reserved_cores": 0, "disks": "ceph"},
    },
    "machines/hypervisor/hardware": "own",
}  # fmt: skip

# name, severity, example, changes, a key the finding points at
CASES: list[tuple[str, str, str, dict[str, Any], str]] = [
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
    ("queue-in-clear", "warning", "cloud", {"openstack/charts": "/charts"}, "openstack.charts"),
    ("replicas-do-not-fit", "error", "region", {"storage/replicas": 4}, "storage.replicas"),
    ("replicas-do-not-fit", "error", "region", {"storage/pools": {"images": {"replicas": 5}}}, "storage.pools.images"),
    ("replicas-do-not-fit", "error", "region", {"storage/failure_domain": "room", "racks/c2/room": "east"}, "machines"),
    ("copies-on-one-host", "error", "region", {"storage/failure_domain": "osd"}, "storage.failure_domain"),
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
    # a Ceph of the site's own
    ("no-osds", "error", "region", {"storage/backend": "native"}, "hardware.region-storage.osds"),
    ("osd-in-a-file", "error", "region", {**FILES, **NATIVE}, "hardware.files.osds"),
    (
        "pool-without-devices",
        "error",
        "lab",
        {**NATIVE, "machines/storage": {"count": 3}, "storage/pools": {"vms": {"device_class": "nvme"}}},
        "storage.pools.vms",
    ),
    (
        "one-copy",
        "error",
        "lab",
        {**NATIVE, "machines/storage": {"count": 3}, "storage/pools": {"vms": {"replicas": 1}}},
        "storage.pools.vms.replicas",
    ),
    (
        "pool-name-fixed",
        "error",
        "lab",
        {**NATIVE, "machines/storage": {"count": 3}, "storage/pools": {"objects": {"name": "mine"}}},
        "storage.pools.objects.name",
    ),
    (
        "ceph-needs-debian",
        "error",
        "lab",
        {**NATIVE, "machines/storage": {"count": 3}, "hosts/debian_releases": ["12"]},
        "hosts.debian_releases",
    ),
    # disks of instances
    (
        "disks-without-ceph",
        "error",
        "cloud",
        {**IN_CEPH, "storage/backend": "none"},
        "hardware.own.compute.disks",
    ),
    (
        "mixed-disks",
        "warning",
        "cloud",
        {
            **IN_CEPH,
            **NATIVE,
            "machines/storage": {"count": 3},
            "machines/hypervisor/hardware": None,
            "machines/hypervisor/machines": {"hypervisor-1": {"hardware": "own"}},
        },
        "hardware.own.compute.disks",
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
    ("volumes-without-ceph", "error", "lab", {"openstack/services": ["keystone", "cinder"]}, "openstack.services"),
    ("objects-without-ceph", "error", "lab", {"openstack/services": ["keystone", "ceph-rgw"]}, "openstack.services"),
    (
        "backups-without-objects",
        "error",
        "lab",
        {
            **NATIVE,
            "machines/storage": {"count": 3},
            "storage/backups": "objects",
            "openstack/services": ["keystone", "cinder"],
        },
        "storage.backups",
    ),
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
    ("ssh-port-taken", "error", "cloud", {"access": {"port": 8022}}, "access.port"),
    ("ssh-port-taken", "error", "lab", {"access": {"port": 8080}}, "access.port"),
    ("unknown-machine", "error", "edge", {"access/host_keys": {"edge-2": "ssh-ed25519 AAAA"}}, "host_keys.edge-2"),
    # what this version does not build
    ("not-in-this-version", "error", "lab", {"edge": {"kind": "gateway-api"}}, "edge.kind"),
    ("not-in-this-version", "warning", "edge", {"storage/backend": "rook"}, "storage.backend"),
    ("not-in-this-version", "warning", "lab", {"machines/worker/provisioner": "ironic"}, "machines"),
    ("not-in-this-version", "warning", "lab", {"networks/cluster": {"cidr": "10.91.0.0/24"}}, "networks.cluster"),
]
