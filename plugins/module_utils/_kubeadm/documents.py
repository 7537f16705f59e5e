"""Generate the files of kubeadm, the kubelet and the API server from the node's specification.

They are YAML files written as JSON, so that a host needs no YAML library.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .spec import CRI_SOCKET, EncryptionKey, Join, Node, taint

SITE_DIR = "/etc/kubernetes/site"
PATCHES_DIR = f"{SITE_DIR}/patches"
ENCRYPTION = f"{SITE_DIR}/encryption.yaml"
CLEAR = "identity"  # in place of a key: no encryption
AUDIT_LOG_DIR = "/var/log/kubernetes"
# Seconds in which an API server that ends says it is not ready, and still answers: HAProxy needs up to 6 to notice
# (three checks), and so do those that reach it by the Service "kubernetes".
SHUTDOWN_DELAY = 10
# Seconds at most in which it closes watches after that. Without them it keeps them until it is killed.
WATCHES_CLOSE = 5
# kubeadm's own probe waits 10 s, then asks every 10 s; it gives up after the same 240 s.
STARTUP_PROBE = {"initialDelaySeconds": 1, "periodSeconds": 2, "failureThreshold": 120}
KUBEADM_API = "kubeadm.k8s.io/v1beta4"

# The kubelet does not start before kubeadm has written its configuration: it would only crash in a loop.
KUBELET_UNIT = """\
[Unit]
Description=kubelet, the node agent of Kubernetes
Documentation=https://kubernetes.io/docs/
Wants=network-online.target containerd.service
After=network-online.target containerd.service
ConditionPathExists=/var/lib/kubelet/config.yaml
RequiresMountsFor=/var/lib/kubelet /var/lib/etcd
StartLimitIntervalSec=0

[Service]
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
ExecStartPre=/usr/local/lib/groundup/data-in-place
ExecStart=/usr/local/bin/kubelet \\
  --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf \\
  --kubeconfig=/etc/kubernetes/kubelet.conf \\
  --config=/var/lib/kubelet/config.yaml \\
  --config-dir=/etc/kubernetes/kubelet.conf.d \\
  $KUBELET_KUBEADM_ARGS
Restart=always
RestartSec=2

[Install]
WantedBy=multi-user.target
"""


def to_text(*documents: Mapping[str, Any]) -> str:
    """Write documents as one YAML stream of JSON."""
    return "---\n".join(json.dumps(document, indent=2, sort_keys=True) + "\n" for document in documents)


def init_config(node: Node) -> str:
    """Return the configuration of ``kubeadm init`` and of its phases on a control host."""
    init = {
        "apiVersion": KUBEADM_API,
        "kind": "InitConfiguration",
        # kubeadm always creates a token. This one is unused, so it lives for a minute instead of a day.
        "bootstrapTokens": [{"ttl": "1m0s"}],
        "localAPIEndpoint": {"advertiseAddress": node.address, "bindPort": node.cluster.api_port},
        "nodeRegistration": _registration(node),
        **_patches(node),
    }
    proxy = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        # The host layer sets nf_conntrack_max: kube-proxy's pod cannot write it on every host.
        "conntrack": {"maxPerCore": 0},
    }
    return to_text(init, _cluster(node), proxy)


def join_config(node: Node, join: Join) -> str:
    """Return the configuration of ``kubeadm join``. It contains the token: write it with mode 0600, remove it after."""
    document: dict[str, Any] = {
        "apiVersion": KUBEADM_API,
        "kind": "JoinConfiguration",
        "nodeRegistration": _registration(node),
        "discovery": {
            "bootstrapToken": {
                "apiServerEndpoint": node.cluster.endpoint,
                "token": join.token,
                "caCertHashes": [join.ca_hash],
            },
            "tlsBootstrapToken": join.token,
        },
    }
    if node.control:
        document["controlPlane"] = {
            "localAPIEndpoint": {"advertiseAddress": node.address, "bindPort": node.cluster.api_port},
            "certificateKey": join.certificate_key or "",
        }
        document |= _patches(node)
    return to_text(document)


def patches(node: Node) -> dict[str, str]:
    """Return kubeadm's patches by file name: images by digest, and that static pods are soon known to have started.

    kubeadm composes an image's name of repository and version; other names need a patch.
    """
    found = {}
    for name, image in sorted(node.control_images.items()):
        container = {"name": name, "image": image}
        if name == "coredns":
            found["corednsdeployment.json"] = to_text({"spec": {"template": {"spec": {"containers": [container]}}}})
        else:
            found[f"{name}.json"] = to_text({"spec": {"containers": [{**container, "startupProbe": STARTUP_PROBE}]}})
    return found


def reset_config(node: Node, *, leave_etcd: bool) -> str:
    """Return the configuration of ``kubeadm reset``; with ``leave_etcd`` it skips the removal of the etcd member."""
    return to_text(
        {
            "apiVersion": KUBEADM_API,
            "kind": "ResetConfiguration",
            "criSocket": CRI_SOCKET,
            "force": True,
            "ignorePreflightErrors": list(node.cluster.ignore_preflight),
            "skipPhases": ["remove-etcd-member"] if leave_etcd else [],
            "timeouts": {"kubernetesAPICall": "10s", "etcdAPICall": "20s"},
        }
    )


def api_server_arguments(node: Node) -> dict[str, str]:
    """Return the API server's flags beyond kubeadm's own."""
    arguments = {
        "profiling": "false",
        "shutdown-delay-duration": f"{SHUTDOWN_DELAY}s",
        "shutdown-watch-termination-grace-period": f"{WATCHES_CLOSE}s",
    }
    if node.cluster.audit:
        arguments |= {
            "audit-policy-file": f"{SITE_DIR}/audit.yaml",
            "audit-log-path": f"{AUDIT_LOG_DIR}/audit.log",
            "audit-log-maxage": "30",  # days
            "audit-log-maxbackup": "10",  # files
            "audit-log-maxsize": "100",  # MB a file
        }
    if node.cluster.encrypt_secrets:
        arguments["encryption-provider-config"] = ENCRYPTION
    return arguments


def certificate_names(node: Node) -> tuple[str, ...]:
    """Return the names and addresses of the API for outside callers, beside the host's own."""
    return (node.cluster.endpoint_name, node.cluster.endpoint_address, "localhost", "127.0.0.1")


def audit_policy() -> str:
    """Return the audit policy: who did what to which object; request bodies only where they hold no secret."""
    quiet_users = ["system:kube-proxy", "system:kube-scheduler", "system:kube-controller-manager", "system:apiserver"]
    reading = ["get", "list", "watch"]
    keys = [{"group": "", "resources": ["secrets", "serviceaccounts/token"]}]
    secretive = [
        {"group": "", "resources": ["configmaps"]},
        {"group": "authentication.k8s.io", "resources": ["tokenreviews"]},
    ]
    return to_text(
        {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            # The first rule that fits decides: none before this one may silence a read of Secrets, whoever reads.
            "rules": [
                {"level": "Metadata", "resources": keys},
                {"level": "None", "users": quiet_users, "verbs": reading},
                {"level": "None", "userGroups": ["system:nodes"], "verbs": reading},
                {"level": "None", "nonResourceURLs": ["/healthz*", "/livez*", "/readyz*", "/version", "/openapi*"]},
                {"level": "None", "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}]},
                {"level": "None", "resources": [{"group": "", "resources": ["events"]}]},
                {"level": "Metadata", "resources": secretive},
                {"level": "Metadata", "verbs": reading},
                {"level": "Request", "verbs": ["create", "update", "patch", "delete", "deletecollection"]},
                {"level": "Metadata"},
            ],
        }
    )


def encryption_config(keys: Sequence[EncryptionKey]) -> str:
    """Return the encryption at rest of Secrets: the first of ``keys`` writes, all read. Contains secrets.

    Secrets in clear text are always read; they are written so when `CLEAR` is the first.
    """
    listed = [{"name": one.name, "secret": one.secret} for one in keys if one.name != CLEAR]
    providers: list[dict[str, Any]] = [*([{"secretbox": {"keys": listed}}] if listed else []), {"identity": {}}]
    if keys[0].name == CLEAR:
        providers.reverse()
    return to_text(
        {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "EncryptionConfiguration",
            "resources": [{"resources": ["secrets"], "providers": providers}],
        }
    )


def kubelet_settings(node: Node) -> str:
    """Return the site's kubelet settings, a drop-in over kubeadm's, so that they can change later."""
    return to_text(
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "cgroupDriver": "systemd",
            "clusterDNS": [node.cluster.dns_address],
            "clusterDomain": node.cluster.dns_domain,
            "rotateCertificates": True,
            **node.cluster.kubelet,
        }
    )


def _patches(node: Node) -> dict[str, Any]:
    return {"patches": {"directory": PATCHES_DIR}} if node.control_images else {}


def _registration(node: Node) -> dict[str, Any]:
    return {
        "name": node.name,
        "criSocket": CRI_SOCKET,
        "taints": [taint(text) for text in node.taints],
        "kubeletExtraArgs": [{"name": "node-ip", "value": node.address}],
        # A separate disk is never empty (lost+found, data set aside); whose data it holds was checked before.
        "ignorePreflightErrors": [
            *node.cluster.ignore_preflight,
            *(["DirAvailable--var-lib-etcd"] if node.control else []),
        ],
        "imagePullPolicy": "IfNotPresent",
        "imagePullSerial": False,
    }


def _cluster(node: Node) -> dict[str, Any]:
    cluster = node.cluster
    volumes: list[dict[str, Any]] = []
    if cluster.audit or cluster.encrypt_secrets:
        volumes.append({"name": "site", "hostPath": SITE_DIR, "mountPath": SITE_DIR, "readOnly": True})
    if cluster.audit:
        volumes.append({"name": "audit-log", "hostPath": AUDIT_LOG_DIR, "mountPath": AUDIT_LOG_DIR})
    return {
        "apiVersion": KUBEADM_API,
        "kind": "ClusterConfiguration",
        "clusterName": node.site,
        "kubernetesVersion": f"v{cluster.version}",
        "controlPlaneEndpoint": cluster.endpoint,
        "imageRepository": cluster.image_repository,
        "networking": {
            "podSubnet": cluster.pod_cidr,
            "serviceSubnet": cluster.service_cidr,
            "dnsDomain": cluster.dns_domain,
        },
        "apiServer": {
            "certSANs": list(dict.fromkeys(certificate_names(node))),
            "extraArgs": [{"name": k, "value": v} for k, v in sorted(api_server_arguments(node).items())],
            "extraVolumes": [volume | {"pathType": "DirectoryOrCreate"} for volume in volumes],
        },
        "controllerManager": {"extraArgs": [{"name": "profiling", "value": "false"}]},
        "scheduler": {"extraArgs": [{"name": "profiling", "value": "false"}]},
        "etcd": {"local": {"dataDir": "/var/lib/etcd", **_etcd_tag(node)}},
    }


def _etcd_tag(node: Node) -> dict[str, str]:
    """Return the version of etcd, which kubeadm compares with that of the manifest before it upgrades."""
    image = node.control_images.get("etcd", "").partition("@")[0]
    tag = image.rpartition(":")[2]
    return {"imageTag": tag} if tag and "/" not in tag else {}
