"""Checklists as they are met: an assertion for every point, over what kubeadm and the charts are given.

GROUNDUP_WRITE_CHECKLISTS=1 ci/run pytest tests/contract/test_checklists.py writes docs/checklists.md.
"""

from __future__ import annotations

import base64
import configparser
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import documents
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import EncryptionKey
from ansible_collections.groundup.cloud.tests.unit.kubernetes_layer.conftest import KEY, make_node

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/checklists.md"
POINTS = Path(__file__).parent / "data/checklists.yml"
Object = dict[str, Any]


@dataclass(frozen=True)
class Seen:
    """What points are asked of: Kubernetes as it is configured, and the objects of every release."""

    server: Mapping[str, str]  # flags of the API server
    cluster: Object  # kubeadm's ClusterConfiguration
    kubelet: Object
    objects: Mapping[str, list[Object]]  # by release
    labels: Mapping[str, str]  # of the namespace of OpenStack
    dashboard: Object  # settings

    @property
    def all(self) -> list[Object]:
        """All objects."""
        return [item for items in self.objects.values() for item in items]

    @property
    def pods(self) -> list[Object]:
        """Specs of all pods."""
        specs = [item.get("spec") or {} for item in self.all]
        specs = [spec.get("jobTemplate", {}).get("spec", spec) for spec in specs]
        return [spec["template"]["spec"] for spec in specs if "template" in spec]

    @property
    def containers(self) -> list[tuple[Object, Object]]:
        """All containers, each with its pod."""
        return [(one, pod) for pod in self.pods for one in (*pod.get("initContainers", ()), *pod["containers"])]

    def text(self, release: str, name: str) -> str:
        """Return a file of the Secret <release>-etc."""
        found = next(item for item in self.objects[release] if is_(item, "Secret", f"{release}-etc"))
        return base64.b64decode(found["data"][name]).decode()

    def conf(self, service: str, name: str = "") -> configparser.ConfigParser:
        """Return a service's configuration."""
        config = configparser.ConfigParser(interpolation=None, strict=False)
        config.read_string(self.text(service, name or f"{service}.conf"))
        return config

    def confs(self) -> Iterator[configparser.ConfigParser]:
        """Yield every configuration with a section for tokens."""
        for release, items in self.objects.items():
            for etc in (item for item in items if is_(item, "Secret", f"{release}-etc")):
                for name in etc["data"]:
                    if "\n[keystone_authtoken]\n" in self.text(release, name):
                        yield self.conf(release, name)

    def rendered(self, release: str) -> str:
        """Return all objects of a release as text."""
        return json.dumps(self.objects[release])


def is_(item: Object, kind: str, name: str) -> bool:
    """Return whether an object is that one."""
    return bool(item["kind"] == kind and item["metadata"]["name"] == name)


def kubernetes() -> tuple[dict[str, str], Object, Object]:
    """Return the API server's flags, kubeadm's ClusterConfiguration and the kubelet's settings."""
    kinds = {found["kind"]: found for found in yaml.safe_load_all(documents.init_config(make_node()))}
    cluster = kinds["ClusterConfiguration"]
    flags = {entry["name"]: entry["value"] for entry in cluster["apiServer"]["extraArgs"]}
    return flags, cluster, json.loads(documents.kubelet_settings(make_node()))


def _no_profiling(seen: Seen) -> bool:
    parts = [seen.cluster[name]["extraArgs"] for name in ("apiServer", "controllerManager", "scheduler")]
    return all({"name": "profiling", "value": "false"} in part for part in parts)


def _audits(seen: Seen) -> bool:
    return bool(seen.server.get("audit-log-path")) and all(
        int(seen.server.get(f"audit-log-{name}", 0)) >= least
        for name, least in (("maxage", 30), ("maxbackup", 10), ("maxsize", 100))
    )


def _encrypts(seen: Seen) -> bool:
    (first,) = json.loads(documents.encryption_config([EncryptionKey(name="site-1", secret=KEY)]))["resources"]
    return "encryption-provider-config" in seen.server and "secretbox" in first["providers"][0]


def _audits_secrets(_: Seen) -> bool:
    first = json.loads(documents.audit_policy())["rules"][0]
    return first["level"] != "None" and "secrets" in first["resources"][0]["resources"] and "users" not in first


def _mounts_tokens_where_used(seen: Seen) -> bool:
    return not any(pod.get("automountServiceAccountToken", True) for pod in seen.pods)


def _of_pods_alone(seen: Seen) -> bool:
    host = ("hostNetwork", "hostPID", "hostIPC")
    volumes = [volume for pod in seen.pods for volume in pod.get("volumes", ())]
    return not (
        any(pod.get(name) for pod in seen.pods for name in host)
        or any("hostPath" in volume for volume in volumes)
        or any(one["securityContext"].get("privileged") for one, _ in seen.containers)
    )


def _owners(seen: Seen) -> bool:
    """Return whether each container drops everything, and adds nothing but to change owners."""
    given = [one["securityContext"]["capabilities"] for one, _ in seen.containers]
    return all(one["drop"] == ["ALL"] and one.get("add", []) in ([], ["CHOWN"]) for one in given)


def _root(seen: Seen) -> bool:
    as_root = [one["securityContext"] for one, _ in seen.containers if one["securityContext"].get("runAsUser") == 0]
    others = all(pod["securityContext"]["runAsNonRoot"] for pod in seen.pods)
    return others and all(one["capabilities"].get("add") == ["CHOWN"] for one in as_root)


def _walls(seen: Seen) -> bool:
    serving = {name for name, items in seen.objects.items() if any(item["kind"] == "Service" for item in items)}
    walled = {name for name, items in seen.objects.items() if any(item["kind"] == "NetworkPolicy" for item in items)}
    return serving <= walled and "name: default-deny" in (ROOT / "playbooks/openstack.yml").read_text()


def _plain_accounts(seen: Seen) -> bool:
    told = [
        release
        for release, items in seen.objects.items()
        if any("identity.json" in (item.get("data") or {}) for item in items)
    ]
    users = [user for release in told for user in json.loads(seen.text(release, "identity.json"))["users"]]
    return bool(users) and all("admin" not in user["roles"] for user in users if "project" in user)


CHECKS: dict[str, Callable[[Seen], bool]] = {
    "1.2.1": lambda seen: seen.server.get("anonymous-auth") == "false",
    "1.2.2": lambda seen: "token-auth-file" not in seen.server,
    "1.2.5": lambda seen: "kubelet-certificate-authority" in seen.server,
    "1.2.6": lambda seen: "AlwaysAllow" not in seen.server.get("authorization-mode", "Node,RBAC"),
    "1.2.9": lambda seen: "EventRateLimit" in seen.server.get("enable-admission-plugins", ""),
    "1.2.11": lambda seen: "AlwaysPullImages" in seen.server.get("enable-admission-plugins", ""),
    "1.2.15": _no_profiling,
    "1.2.16": _audits,
    "1.2.27": _encrypts,
    "1.2.29": lambda seen: "tls-cipher-suites" in seen.server,
    "2.2": lambda seen: not seen.cluster["etcd"]["local"].get("extraArgs"),  # kubeadm's own flags demand them
    "3.1.1": lambda seen: bool(seen.server.keys() & {"oidc-issuer-url", "authentication-config"}),
    "3.2.2": _audits_secrets,
    "4.2.1": lambda seen: not seen.kubelet.get("authentication") and not seen.kubelet.get("readOnlyPort"),
    "4.2.6": lambda seen: bool(seen.kubelet.get("protectKernelDefaults")),
    "4.2.10": lambda seen: bool(seen.kubelet.get("rotateCertificates")),
    "4.2.11": lambda seen: bool(seen.kubelet.get("serverTLSBootstrap")),
    "5.1.3": lambda seen: "*" not in json.dumps([item["rules"] for item in seen.all if "rules" in item]),
    "5.1.6": _mounts_tokens_where_used,
    "5.2.1": lambda seen: seen.labels.get("pod-security.kubernetes.io/enforce") in ("baseline", "restricted"),
    "5.2.2": _of_pods_alone,
    "5.2.6": lambda seen: all(
        one["securityContext"].get("allowPrivilegeEscalation") is False
        for one, _ in seen.containers if one["securityContext"].get("runAsUser") != 0
    ),
    "5.2.7": _root,
    "5.2.9": _owners,
    "5.3.2": _walls,
    "5.4.1": lambda seen: "secretKeyRef" not in json.dumps(seen.pods) and "secretRef" not in json.dumps(seen.pods),
    "5.7.2": lambda seen: all(
        pod["securityContext"].get("seccompProfile", {}).get("type") == "RuntimeDefault" for pod in seen.pods
    ),
    "5.7.4": lambda seen: all(item["metadata"].get("namespace") != "default" for item in seen.all),
    "Check-Identity-03": lambda seen: "SSLEngine" in seen.rendered("keystone"),
    "Check-Identity-05": lambda seen: "LimitRequestBody" in seen.text("keystone", "wsgi-keystone.conf"),
    "Check-Identity-06": lambda seen: not seen.conf("keystone").has_option("DEFAULT", "admin_token")
    and not seen.conf("keystone").getboolean("DEFAULT", "insecure_debug", fallback=False),
    "identity-tokens": lambda seen: seen.conf("keystone").get("token", "provider", fallback="fernet") == "fernet",
    "identity-expiration": lambda seen: seen.conf("keystone").getint("token", "expiration", fallback=3600) <= 3600,
    "identity-lockout": lambda seen: seen.conf("keystone").getint(
        "security_compliance", "lockout_failure_attempts", fallback=0
    ) > 0,
    "identity-passwords": lambda seen: (
        not re.match(seen.conf("keystone")["security_compliance"]["password_regex"], "a" * 11)
    ),
    "default-roles": lambda seen: all(
        config.getboolean("oslo_policy", name, fallback=False)
        for config in (seen.conf("keystone"), *seen.confs()) for name in ("enforce_scope", "enforce_new_defaults")
    ),
    "image-import": lambda seen: "web-download" not in seen.conf("glance", "glance-api.conf").get(
        "DEFAULT", "enabled_import_methods", fallback="web-download"
    ),
    "Check-Dashboard-04": lambda seen: seen.dashboard["CSRF_COOKIE_SECURE"] is True,
    "Check-Dashboard-05": lambda seen: (
        seen.dashboard["SESSION_COOKIE_SECURE"] is seen.dashboard["SESSION_COOKIE_HTTPONLY"] is True
    ),
    "Check-Dashboard-09": lambda seen: (
        seen.dashboard["DISALLOW_IFRAME_EMBED"] is True
        and seen.dashboard["DEBUG"] is False
        and "*" not in seen.dashboard["ALLOWED_HOSTS"]
    ),
    "Check-Dashboard-12": lambda seen: str(seen.dashboard["OPENSTACK_KEYSTONE_URL"]).startswith("https://"),
    "Check-Compute-03": lambda seen: all(
        config.get("api", "auth_strategy", fallback="keystone") == "keystone" for config in seen.confs()
    ),
    "Check-Compute-04": lambda seen: all(
        config.get("keystone_authtoken", "auth_url", fallback="").startswith("https://") for config in seen.confs()
    ),
    "service-tokens": lambda seen: all(
        config.getboolean("keystone_authtoken", "service_token_roles_required", fallback=False)
        for config in seen.confs()
    ),
    "service-accounts": _plain_accounts,
    "token-cache": lambda seen: all(
        not config.get("keystone_authtoken", "memcached_servers", fallback="").strip() for config in seen.confs()
    ),
    "Check-Image-05": lambda seen: not seen.conf("glance", "glance-api.conf").getboolean(
        "DEFAULT", "show_image_direct_url", fallback=False
    ),
    "galera-tls": lambda seen: "socket.ssl=yes" in seen.rendered("mariadb"),
}  # fmt: skip


def page(seen: Seen) -> str:
    """Return the page. Raises KeyError for a point without assertion."""
    lines = [
        "# Checklists", "",
        "<!-- Generated by tests/contract/checklists.py: change the code, or a reason in data/checklists.yml. -->", "",
        "Each point is asserted over what kubeadm is given and what the built-in charts make of `inventories/region`",
        "with all services. Files and processes of running hosts are not here, but where a test looks at one.",
    ]  # fmt: skip
    for part in yaml.safe_load(POINTS.read_text()).values():
        lines += ["", f"## {part['title']}", "", "| point | | | looked at by |", "|---|---|---|---|"]
        for name, point in part["points"].items():
            passed = CHECKS[name](seen)
            told = "passed" if passed else f"**failed**: {point.get('reason', 'no reason is known')}"
            where = f"`{point['host']}`" if "host" in point else ""
            lines.append(f"| {name} | {point['what']} | {told} | {where} |")
    return "\n".join(lines) + "\n"
