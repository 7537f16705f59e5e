"""Mistakes in what a site file says of cluster, services and versions, each with the finding it is."""

from __future__ import annotations

from typing import Any

DIGEST = "@sha256:" + "0" * 64

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
    ("database-open-to-members", "warning", "lab", {"openstack/charts": "/charts"}, "openstack.charts"),
    ("queue-in-clear", "warning", "cloud", {"openstack/charts": "/charts"}, "openstack.charts"),
    ("replicas-do-not-fit", "error", "region", {"storage/replicas": 4}, "storage.replicas"),
    ("replicas-do-not-fit", "error", "region", {"storage/pools": {"images": {"replicas": 5}}}, "storage.pools.images"),
    ("replicas-do-not-fit", "error", "region", {"storage/failure_domain": "room", "racks/c2/room": "east"}, "machines"),
    ("copies-on-one-host", "error", "region", {"storage/failure_domain": "osd"}, "storage.failure_domain"),
    ("quorum-in-one-failure-domain", "error", "region", {"machines/control/racks": ["c1"]}, "machines.control"),
    ("quorum-in-one-failure-domain", "warning", "region", {"machines/control/racks": ["c1", "c2"]}, "machines.control"),
    # backups
    *(
        (
            "backups-in-own-object-store",
            "error",
            "lab",
            {"backups/s3": {"endpoint": url, "bucket": "sets"}},
            "backups.s3.endpoint",
        )
        for url in ("https://s3.lab.test", "http://other.lab.test:7480")
    ),
    *(
        ("logs-on-host", "warning", "lab", {"backups/logs_every": 5, **more}, "backups.logs_every")
        for more in ({}, {"backups/s3": {"endpoint": "https://s3.example.com", "bucket": "sets"}})
    ),
    # the cluster
    ("openstack-on-tenant-cluster", "error", "lab", {"kubernetes/serves": "tenants"}, "kubernetes.serves"),
    ("dns-domain-meets-domain", "error", "lab", {"kubernetes/dns_domain": "lab.test", "domain": "lab.test"}, "domain"),
    ("dns-domain-meets-domain", "error", "lab", {"kubernetes/dns_domain": "test", "domain": "lab.test"}, "domain"),
    (
        "dns-domain-meets-domain",
        "error",
        "lab",
        {"kubernetes/dns_domain": "k8s.lab.test", "domain": "lab.test"},
        "domain",
    ),
    ("dns-domain-meets-domain", "error", "lab", {"domain": "a.cluster.local.example.org"}, "domain"),
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
        {
            "kubernetes/cni": "cilium",
            "kubernetes/cni_backend": "geneve",
            "machines/hypervisor/roles": ["hypervisor", "worker"],
        },
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
    (
        "shares-without-a-backend",
        "warning",
        "lab",
        {"openstack/services": ["keystone", "manila"]},
        "openstack.services",
    ),
    ("zones-without-name-servers", "warning", "lab", {"openstack/services": ["designate"]}, "openstack.services"),
    ("clusters-not-seen", "warning", "lab", {"openstack/services": ["keystone", "magnum"]}, "openstack.services"),
    ("needless-magnum", "warning", "lab", {"openstack/services": ["keystone", "magnum"]}, "openstack.services"),
    ("server-on-virtual-ip", "error", "lab", {"hosts/ntp_servers": ["10.90.0.2"]}, "hosts.ntp_servers"),
    ("server-on-virtual-ip", "error", "region", {"hosts/dns_servers": ["10.96.8.2", "192.0.2.5"]}, "hosts.dns_servers"),
    (
        "override-unknown-key",
        "warning",
        "lab",
        {"openstack/overrides": {"keystone": {"why": "w", "values": {"config": {"keystone": {}}}}}},
        "openstack.overrides.keystone.values.config",
    ),
    (
        "override-unknown-key",
        "warning",
        "lab",
        {"openstack/overrides": {"keystone": {"why": "w", "values": {"pod": {"replica": {"api": 2}}}}}},
        "openstack.overrides.keystone.values.pod.replica",
    ),
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
    (
        "release-without-charts",
        "error",
        "lab",
        {"openstack/release": "2026.2", "openstack/charts": "/srv/charts"},
        "openstack.charts",
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
    (
        "image-release-mismatch",
        "error",
        "lab",
        {"supply/images": {"openstack": "r.example/o:2025.2" + DIGEST}},
        "supply.images.openstack",
    ),
]
