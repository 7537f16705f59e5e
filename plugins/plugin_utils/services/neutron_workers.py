"""Workers that neutron-server needs beside the API, as Deployments of their own: both sets of charts lack them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import ovn
from .parts import node_labels, resources
from .record import Values
from .sizes import Sizes

if TYPE_CHECKING:
    from ..plan.types import Plan

COMMANDS = {"ovn-maintenance-worker": "neutron-ovn-maintenance-worker", "periodic-workers": "neutron-periodic-workers"}
_ETC, TLS = "/etc/neutron", "/etc/neutron/ovn"
_FILES = ("--config-file neutron.conf", "--config-file plugins/ml2/ml2_conf.ini", "--config-dir neutron.conf.d")
OPTIONS = " ".join(one.replace(" ", f" {_ETC}/") for one in _FILES)
_USER = 42424
# The account's token, for the init container alone; like `groundup.pod.waitAccess` of the built-in charts.
_WAIT_ACCESS = {
    "name": "wait-access",
    "projected": {
        "defaultMode": 0o444,
        "sources": [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
        ],
    },
}
_SCRATCH = ("/tmp", "/var/lock", "/var/lib/neutron")  # noqa: S108 - in the pod


def worker(plan: Plan, sizes: Sizes, name: str, command: str) -> Values:
    """Return the Deployment of a worker that ran inside neutron-server before it moved to uWSGI.

    Without the first, differences between OVN and Neutron stay; without the second, no agent is ever reported dead;
    without `neutron-rpc-server`, no agent of SR-IOV reports at all.
    Two pods would work twice, so an update stops the old pod first.
    """
    labels = {"application": "neutron", "component": name, "release_group": "neutron"}
    file = {"name": "etc", "readOnly": True}
    secured = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    scratch = [{"name": "scratch", "mountPath": path, "subPath": path[1:].replace("/", "-")} for path in _SCRATCH]
    waits = {
        "NAMESPACE": plan.openstack.namespace,
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/",
        "DEPENDENCY_JOBS": "neutron-db-sync",
    }
    container = {
        "name": name,
        "image": plan.supply.images["openstack"],
        "imagePullPolicy": "IfNotPresent",
        "command": [command, *OPTIONS.split()],
        "securityContext": secured,
        "volumeMounts": [
            *scratch,
            {**file, "mountPath": f"{_ETC}/neutron.conf", "subPath": "neutron.conf"},
            {**file, "mountPath": f"{_ETC}/plugins/ml2/ml2_conf.ini", "subPath": "ml2_conf.ini"},
            {**file, "mountPath": f"{_ETC}/logging.conf", "subPath": "logging.conf"},
            {"name": "accounts", "readOnly": True, "mountPath": f"{_ETC}/neutron.conf.d"},
            ovn.mount(TLS),
        ],
        **({"resources": resources(memory="256Mi", limit="2Gi", cpu=sizes.cpu(100))} if sizes.resources else {}),
    }
    wait = {
        "name": "init",
        "image": plan.supply.images["dep-check"],
        "imagePullPolicy": "IfNotPresent",
        "command": ["kubernetes-entrypoint"],
        "securityContext": {**secured, "runAsUser": 65534, "runAsGroup": 65534},
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            *({"name": key, "value": value} for key, value in waits.items()),
        ],
        "volumeMounts": [
            {"name": "wait-access", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True}
        ],
    }
    selector = node_labels(("server",))["server"]
    spec = {
        "serviceAccountName": "neutron-server",  # may read the jobs that the init container waits for
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "nodeSelector": {selector["node_selector_key"]: selector["node_selector_value"]},
        "securityContext": {
            "runAsUser": _USER, "runAsGroup": _USER, "fsGroup": _USER, "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "initContainers": [wait],
        "containers": [container],
        "volumes": [
            {"name": "scratch", "emptyDir": {}},
            _WAIT_ACCESS,
            {"name": "etc", "secret": {"secretName": "neutron-etc", "defaultMode": 0o440}},
            # OpenStack-Helm's chart stores the accounts in a separate Secret, the built-in one in neutron.conf.
            {"name": "accounts", "secret": {"secretName": "neutron-ks-etc", "defaultMode": 0o440, "optional": True}},
            ovn.volume(),
        ],
    }  # fmt: skip
    rolled = "{{ toJson (list .Values.conf.neutron .Values.conf.plugins .Values.endpoints) | sha256sum }}"
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"neutron-{name}", "labels": labels},
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels, "annotations": {"configuration-hash": rolled}}, "spec": spec},
        },
    }
