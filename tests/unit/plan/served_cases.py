"""Mistakes in what a site file says of who serves the site, and of what comes from outside."""

from __future__ import annotations

from typing import Any

from ansible_collections.groundup.cloud.tests.unit.certificates import issue

HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIl4ihn7CPPqL8ikWg4Zjy7gMq376PVX8z7nSORWMyX9"
LEAF, ENDED = issue("leaf").pem, issue("old", ca=True, begins=-99, days=-9).pem
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

# name, severity, example, changes, a key the finding points at
CASES: list[tuple[str, str, str, dict[str, Any], str]] = [
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
    ("unknown-machine", "error", "edge", {"access/host_keys": {"edge-2": HOST_KEY}}, "host_keys.edge-2"),
    # what this version does not build
    ("not-in-this-version", "error", "lab", {"edge": {"kind": "gateway-api"}}, "edge.kind"),
    ("not-run-here", "warning", "edge", {"storage/backend": "rook"}, "storage.backend"),
    ("not-in-this-version", "warning", "lab", {"machines/worker/provisioner": "ironic"}, "machines"),
    ("not-in-this-version", "warning", "lab", {"networks/cluster": {"cidr": "10.91.0.0/24"}}, "networks.cluster"),
]
