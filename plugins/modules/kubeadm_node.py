#!/usr/bin/python
"""Converge a host as a Kubernetes node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kubeadm_node
short_description: Converge a host as a Kubernetes node with kubeadm
version_added: 0.1.0
description:
  - One call installs the node's programs by digest from the site's file server, configures containerd and the kubelet,
    and initialises the cluster on the first host, joins it on the others, or converges a member.
  - Reads the host's state from kubeadm's own files, so the next run finishes a killed one. Resets and repeats an
    unfinished init or join of this site, and refuses other leftovers.
  - Refuses a host of another cluster, and never resets it.
  - Without O(join), prepares the host and returns RV(joins) true. M(groundup.cloud.kubeadm_access) creates the join
    credentials.
  - Interrupts a control host's API only with O(rolling_restart). Refuses an upgrade of Kubernetes, and a change of the
    key for Secrets at rest.
options:
  role:
    description: Role of the node.
    type: str
    choices: [control, worker]
    required: true
  initialise:
    description: Whether this host initialises the cluster when there is none.
    type: bool
    default: false
  surveyed:
    description:
      - Whether M(groundup.cloud.kubeadm_cluster) asked every control host of the site and none belongs to a cluster.
        V(false) initialises nothing.
    type: bool
    default: false
  address:
    description: Address of the host that the kubelet, etcd and the API server use.
    type: str
    required: true
  taints:
    description: Taints the node registers with, as C(key=value:Effect).
    type: list
    elements: str
    default: []
  cluster:
    description: The plan's C(kubernetes).
    type: dict
    required: true
  registry:
    description: Host and port of the site's registry.
    type: str
    required: true
  registry_tls:
    description: Whether the registry uses TLS. A seed's does.
    type: bool
    default: true
  ca_certificate:
    description:
      - CA, in PEM, of the certificates of registry and file server. Trusted for these two only.
      - Default is the host's trust store.
    type: str
  sandbox_image:
    description: Pod sandbox (pause) image.
    type: str
    required: true
  images:
    description: Images to pull before the host joins, so that it is Ready sooner.
    type: list
    elements: str
    default: []
  later_images:
    description:
      - Images that pods will run, in the order they are needed. A host that becomes a member pulls them in the
        background. The kubelet pulls missing ones when a pod needs them.
    type: list
    elements: str
    default: []
  downloads:
    description: Programs of the node, from the site's file server.
    type: list
    elements: dict
    default: []
    suboptions:
      url:
        description: Where the file is.
        type: str
        required: true
      sha256:
        description:
          - SHA-256 of the file, in hexadecimal, as the controller published it.
          - Default is C(<url>.sha256) of the server, which detects damage but not a compromised server.
        type: str
      path:
        description: Target path. For an archive, the directory to unpack into, without its own directories.
        type: str
        required: true
      archive:
        description: Whether the file is a tar archive.
        type: bool
        default: false
  encryption_key:
    description: Key that encrypts Secrets at rest, 32 bytes in base64. For control hosts.
    type: str
  control_images:
    description:
      - Images of C(etcd), C(kube-apiserver), C(kube-controller-manager), C(kube-scheduler) and C(coredns), with their
        known digests. kubeadm itself names images by version only. For control hosts.
    type: dict
    default: {}
  rolling_restart:
    description:
      - Whether to make changes that interrupt etcd and the API of a control host; use it on one host at a time. Renews
        control plane certificates when one ends within 30 days. Restarts static pods whose image differs from
        O(control_images), whose flags differ from the site's, or that are older than a file they read only at their
        start, such as certificates and the audit policy.
      - First waits until etcd and the API are healthy without this host. V(false) lists pending changes in RV(due).
    type: bool
    default: false
  expected_ca:
    description:
      - SHA-256 of the CA certificate of an existing cluster, which is then never initialised again.
      - The action plugin takes it from the record of the cluster or the kubeconfig in the site's state directory.
    type: str
  join:
    description: Join credentials. A prepared host joins with them, and nothing else is checked.
    type: dict
    suboptions:
      token:
        description: Bootstrap token.
        type: str
        required: true
      ca_hash:
        description: Pin of the CA's public key, as C(sha256:...).
        type: str
        required: true
      certificate_key:
        description: Key that decrypts the uploaded certificates. For control hosts.
        type: str
attributes:
  diff_mode:
    description: Shows files line by line, never secrets.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.host
  - groundup.cloud.site
"""

EXAMPLES = r"""
- name: Every host of the cluster is a node or ready to become one
  groundup.cloud.kubeadm_node:
    name: "{{ groundup_host.name }}"
    role: "{{ 'control' if 'control' in groundup_host.roles else 'worker' }}"
    initialise: "{{ groundup_host.name == groundup_site.kubernetes.first_control }}"
    address: "{{ groundup_host.address }}"
    taints: "{{ groundup_host.node_taints }}"
    site: "{{ groundup_site.site }}"
    cluster: "{{ groundup_site.kubernetes }}"
    registry: "{{ groundup_site.supply.registry }}"
    sandbox_image: "{{ groundup_site.supply.images.pause }}"
"""

RETURN = r"""
membership:
  description: State of the host now, C(blank), C(partial) or C(member).
  type: str
  returned: success
changes:
  description: Changes made, in order, or predicted in check mode.
  type: list
  elements: str
  returned: success
joins:
  description: Whether the host is prepared and waits for join credentials.
  type: bool
  returned: success
due:
  description:
    - Certificates that expire within 30 days, and static pods that need a restart, when O(rolling_restart) is false. In
      check mode also those that would need it.
  type: list
  elements: str
  returned: success
ca:
  description: SHA-256 of the CA certificate of the cluster the host is a member of.
  type: str
  returned: success
certificates:
  description: Days left of each certificate of the host, by file name.
  type: dict
  returned: success
"""

from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.module import run_module
from ..module_utils._host.downloads import Download
from ..module_utils._kubeadm.converge import converge
from ..module_utils._kubeadm.host import NodeHost
from ..module_utils._kubeadm.spec import ClusterSettings, Join, Node

DOWNLOAD_SPEC = {
    "url": {"type": "str", "required": True},
    "sha256": {"type": "str"},
    "path": {"type": "str", "required": True},
    "archive": {"type": "bool", "default": False},
}
JOIN_SPEC = {
    "token": {"type": "str", "required": True, "no_log": True},
    "ca_hash": {"type": "str", "required": True},
    "certificate_key": {"type": "str", "no_log": True},
}
ARGUMENT_SPEC = {
    "name": {"type": "str", "required": True},
    "role": {"type": "str", "choices": ["control", "worker"], "required": True},
    "initialise": {"type": "bool", "default": False},
    "surveyed": {"type": "bool", "default": False},
    "address": {"type": "str", "required": True},
    "taints": {"type": "list", "elements": "str", "default": []},
    "site": {"type": "str", "required": True},
    "cluster": {"type": "dict", "required": True},
    "registry": {"type": "str", "required": True},
    "registry_tls": {"type": "bool", "default": True},
    "ca_certificate": {"type": "str"},
    "sandbox_image": {"type": "str", "required": True},
    "images": {"type": "list", "elements": "str", "default": []},
    "later_images": {"type": "list", "elements": "str", "default": []},
    "downloads": {"type": "list", "elements": "dict", "default": [], "options": DOWNLOAD_SPEC},
    "encryption_key": {"type": "str", "no_log": True},
    "control_images": {"type": "dict", "default": {}},
    "rolling_restart": {"type": "bool", "default": False},
    "expected_ca": {"type": "str"},
    "join": {"type": "dict", "options": JOIN_SPEC},
}


def node_of(parameters: dict[str, Any]) -> Node:
    """Turn the module's parameters into a node. Raises OptionError for a field that ``cluster`` lacks."""
    same = ("name", "initialise", "surveyed", "address", "registry", "registry_tls", "sandbox_image", "encryption_key")
    return Node(
        **{name: parameters[name] for name in same},
        ca_certificate=parameters["ca_certificate"] or None,
        control=parameters["role"] == "control",
        cluster=ClusterSettings.from_plan(parameters["site"], parameters["cluster"]),
        taints=tuple(parameters["taints"]),
        images=tuple(parameters["images"]),
        later_images=tuple(parameters["later_images"]),
        downloads=tuple(Download(**download) for download in parameters["downloads"]),
        control_images={name: str(image) for name, image in parameters["control_images"].items()},
    )


def work(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Converge. Raises GroundupError, OptionError, OSError."""
    node = node_of(given)
    return converge(
        node,
        NodeHost(name=node.name),
        changes,
        join=Join(**given["join"]) if given["join"] else None,
        expected_ca=given["expected_ca"],
        rolling_restart=given["rolling_restart"],
    ).result()


def main() -> None:
    """Run the module."""
    run_module(ARGUMENT_SPEC, work)


if __name__ == "__main__":
    main()
