"""Mistakes in what a site file says of cluster, services and who serves them, each with the finding it is."""

from __future__ import annotations

from typing import Any

from ansible_collections.groundup.cloud.tests.unit.certificates import issue

LEAF, ENDED = issue("leaf").pem, issue("old", ca=True, begins=-99, days=-9).pem
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
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
    ("updates-by-site", "info", "region", {}, "hosts.updates"),
    ("updates-without-source", "error", "region", {"hosts/updates": "debian"}, "hosts.packages"),
    (
        "updates-without-source",
        "error",
        "region",
        {
            "hosts/updates": "debian",
            "hosts/packages_url": "http://mirror.example.org/debian",
            "hosts/packages_suites": ["trixie"],
        },
        "hosts.packages_suites",
    ),
    (
        "updates-disabled",
        "error",
        "edge",
        {"hosts/packages": "host", "hosts/updates": "debian", "hosts/disabled_units": ["apt-daily.timer"]},
        "hosts.disabled_units",
    ),
    ("several-seeds", "error", "lab", {"machines/seed/count": 2}, "machines.seed"),
    ("files-url-not-the-seeds", "error", "lab", {"supply/files_url": "https://f.example.org"}, "supply.files_url"),
    ("files-url-not-the-seeds", "error", "lab", {"supply/files_url": "http://f.example.org:8080"}, "supply.files_url"),
    ("firmware-unused", "warning", "lab", {"supply/firmware": ["bnx2x"]}, "supply.firmware"),
    *(
        (name, "error", "lab", {field.replace(".", "/"): text}, field)
        for field in ("supply.ca", "hosts.packages_ca")
        for name, text in (("ca-unreadable", CERTIFICATE), ("ca-is-no-ca", LEAF), ("certificate-expired", ENDED))
    ),
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
    ("registry-login-unused", "error", "lab", {"supply/registry_login": True}, "supply.registry_login"),
    (
        "registry-login-unused",
        "error",
        "lab",
        {
            "supply/registry_login": True,
            "supply/registry": "r.example.org:5000/x",
            "supply/registry_tls": False,
            "supply/files_url": "http://r.example.org:8080",
        },
        "supply.registry",
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
    ("proxy-is-the-sites", "error", "lab", {"proxy": {"http": "http://10.90.0.16:3128"}}, "proxy.http"),
    ("proxy-is-the-sites", "error", "lab", {"proxy": {"https": "http://10.90.0.2:3128"}}, "proxy.https"),
    ("proxy-is-the-sites", "error", "lab", {"proxy": {"http": "http://registry.lab.test:3128"}}, "proxy.http"),
    ("server-behind-pods", "error", "lab", {"proxy": {"http": "http://10.233.64.9:3128"}}, "proxy.http"),
    (
        "proxy-login-not-on-the-seed",
        "error",
        "region",
        {
            "seed": {"runner": ["host"]},
            "hosts/packages": "host",
            "proxy": {"http": "http://proxy.example.org:3128", "login": True},
        },
        "proxy.login",
    ),
    # what preflight asks of machines
    ("hardware-needed", "info", "region", {}, "machines"),
    # how the controller knows the machines
    ("host-key-missing", "warning", "edge", {"access": {}}, "access.host_keys"),
    ("ssh-port-taken", "error", "cloud", {"access": {"port": 8022}}, "access.port"),
    ("ssh-port-taken", "error", "lab", {"access": {"port": 8080}}, "access.port"),
    ("unknown-machine", "error", "edge", {"access/host_keys": {"edge-2": "ssh-ed25519 AAAA"}}, "host_keys.edge-2"),
    # what this version does not build
    ("not-in-this-version", "error", "lab", {"edge": {"kind": "gateway-api"}}, "edge.kind"),
    ("not-run-here", "warning", "edge", {"storage/backend": "rook"}, "storage.backend"),
    ("not-in-this-version", "warning", "lab", {"machines/worker/provisioner": "ironic"}, "machines"),
    ("not-in-this-version", "warning", "lab", {"networks/cluster": {"cidr": "10.91.0.0/24"}}, "networks.cluster"),
]
